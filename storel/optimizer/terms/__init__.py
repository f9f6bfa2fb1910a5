"""Parts of terms where they stand: their scopes, their products, their conditions."""
