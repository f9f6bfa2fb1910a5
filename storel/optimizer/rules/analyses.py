"""What the guards of rules ask about an e-class, as egglog functions and relations.

    free x       the free variables, as a bit mask: of equal terms the fewest, for a value cannot depend
                 on a variable that an equal term lacks
    rank x       0 for scalars, d for dictionaries of rank d, 1 for arrays
    low, high    inclusive bounds of integers
    asked x v s  whether x is linear, strict or loose in v over s matters: a loop binds v over a dictionary
    linear x v s x is additive in v over semiring s, and zero where v is zero
    strict x v s x is zero where v is zero
    loose x v s  x has a term that is not strict in v over s
    separable x v s  x only visits the scalar entries of v: additive over dictionaries that do not overlap
    distinct x v the outermost keys of x determine v: for two of its values x has no row in common
    apart x v    all its keys do: for two of its values x has no entry in common
    disjoint x y no entry of x has the keys of one of y
    separate x y no entry of y has the same keys in two iterations over x
    over x s     x is a dictionary over semiring s: no entry of it is the zero of s
    whole x      x is the term that is searched from
    visits       a loop goes over a dictionary, or something is looked up in one
    selects x v  below loops that do not depend on v, x is conditional on an equality with v
    moving e x t b  e is b with t for x, which is free in b: substitution goes on below (named binders)
    renamed v    v was another variable, of which the same is known
    number x l h x is an integer from l to h, and elements x l h an array of such

An analysis holds for the class: whatever is proved of one term is true of all terms equal to it. Bounds
of variables are facts about the binders of the source term (``egraph/facts.py``), since the same binder may
come to stand over an instance of its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from storel.functions import FUNCTIONS
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.constructors import rule
from storel.optimizer.rules.integer_bounds import BOUNDS, fitting

RULESETS = ("scope", "operators", "analysis")

SMALL = 2**60
"""How far a number may be from 0 for a few such ones to be added up in 64 bits."""

MODEST = 2**30
"""How far a number may be from 0 for the product of two such ones to be small."""

GUARDS: dict[str, tuple[str, str]] = {
    "linear": ("tb", "(linear {0} {1} s)"),
    "strict": ("tb", "(strict {0} {1} s)"),
    "depends": ("tb", "(!= (bigint 0) (& (free {0}) (<< (bigint 1) {1})))"),
    "independent": ("tb", "(= (bigint 0) (& (free {0}) (<< (bigint 1) {1})))"),
    "selects": ("tb", "(selects {0} {1})"),
    "scalar": ("t", "(= 0 (rank {0}))"),
    "dictionary": ("t", "(dictionary {0})"),
    "alike": ("tt", "(= (rank {0}) (rank {1}))"),
    "array": ("t", "(array {0})"),
    "loose": ("tb", "(loose {0} {1} s)"),
    "separable": ("tb", "(separable {0} {1} s)"),
    "distinct": ("tb", "(distinct {0} {1})"),
    "apart": ("tb", "(apart {0} {1})"),
    "disjoint": ("tt", "(disjoint {0} {1})"),
    "separate": ("tt", "(separate {0} {1})"),
    "over": ("t", "(over {0} s)"),
    "integer": ("t", "(low {0})"),
    "small": ("t", f"(< (max (high {{0}}) (not-i64 (low {{0}}))) {SMALL})"),
    "modest": ("t", f"(< (max (high {{0}}) (not-i64 (low {{0}}))) {MODEST})"),
    "pairs": ("tt", "(pairs {0} {1})"),
    "triples": ("ttt", "(triples {0} {1} {2})"),
    "increasing": ("t", "(increasing {0})"),
    "ascending": ("t", "(ascending {0})"),
    "less": ("tt", "(< (high {0}) (low {1}))"),
    "less_equal": ("tt", "(<= (high {0}) (low {1}))"),
    "positive": ("t", "(< 0 (low {0}))"),
    "nonnegative": ("t", "(<= 0 (low {0}))"),
}
"""The guards of the rule language: their arguments, terms (t) or binders (b), and the fact that each is."""

ANSWERED = ("linear", "strict", "loose")
"""What is found of a variable only if something asks for it: of those of loops over dictionaries it is."""

_DECLARATIONS = """
(function free (Term) BigInt :merge (& old new))
(function rank (Term) i64 :merge (min old new))
(function low (Term) i64 :merge (max old new))
(function high (Term) i64 :merge (min old new))
(function element-low (Term) i64 :merge (max old new))
(function element-high (Term) i64 :merge (min old new))
(relation number (Term i64 i64))
(relation elements (Term i64 i64))
(relation whole (Term))
(relation visits ())
(relation moving (Term i64 Term Term))
(relation renamed (i64))
(relation array (Term))
(relation dictionary (Term))
(relation ascending (Term))
(relation increasing (Term))
(relation within (Term Term))
(relation linear (Term i64 String))
(relation strict (Term i64 String))
(relation selects (Term i64))
(relation loose (Term i64 String))
(relation separable (Term i64 String))
(relation distinct (Term i64))
(relation apart (Term i64))
(relation disjoint (Term Term))
(relation separate (Term Term))
(relation over (Term String))
(relation asked (Term i64 String))
(relation loose-function (String))
(relation pairs (Term Term))
(relation triples (Term Term Term))
(relation is-zero (Term String))
(relation is-one (Term String))
(relation index-like (String))
(relation zero-preserving (String))
(relation conversion (String))
(relation no-conversion (String))
(relation annihilated-by (String i64))
(ruleset scope)
(ruleset operators)
(ruleset analysis)
"""

FACTS = tuple(re.findall(r"\(relation (\S+)", _DECLARATIONS))
"""The names of what analyses find: relations, which hold of few terms or none."""

# Commands take longer than rules, so that one tells several facts of a name.
_GIVEN = """
(number e l h) => (set (rank e) 0) (set (low e) l) (set (high e) h)
(elements e l h) => (set (element-low e) l) (set (element-high e) h)
(array e) => (set (rank e) 1)
"""

_RANKS = """
(= e (Const n)) => (set (rank e) 0)
(= e (Zero s r)) => (set (rank e) r) (is-zero e s)
(= e (Zero s r)) (< 0 r) => (dictionary e)
(= e (Int 0)) => (is-zero e "plus_times") (is-zero e "max_times")
(= e (Int 1)) => (is-one e "plus_times") (is-one e "max_times")
(= e (Truth 0)) => (is-zero e "or_and")
(= e (Sum s r k v b)) (= n (rank b)) => (set (rank e) n)
(= e (Reduce s r k v b)) => (set (rank e) 0)
(= e (Single s k v)) (= n (rank v)) => (set (rank e) (+ n 1)) (dictionary e)
(= e (Look s m k)) (= n (rank m)) => (set (rank e) (- n 1))
(= e (Range l h)) => (set (rank e) 1) (array e)
(= e (Slice a l h)) => (set (rank e) 1) (array e)
(= e (Let x k b)) (= n (rank b)) => (set (rank e) n)
(= e (If s c b)) (= n (rank b)) => (set (rank e) n)
(= e (Add s a b)) (= n (rank a)) => (set (rank e) n)
(= e (Mul s a b)) (= n (rank a)) (= m (rank b)) => (set (rank e) (max n m))
(= e (Apply1 f a)) => (set (rank e) 0)
(= e (Apply2 f a b)) => (set (rank e) 0)
(= e (Apply3 f a b c)) => (set (rank e) 0)
(= e (Uniq a)) => (set (rank e) 0)
(= e (Merge s l r p q x b)) (= n (rank b)) => (set (rank e) n)
(= e (Find s r k p b)) (= n (rank b)) => (set (rank e) n)
(= e (Sum s r k v b)) (= n (rank e)) (< 0 n) => (dictionary e)
(= e (Merge s l r p q x b)) (= n (rank e)) (< 0 n) => (dictionary e)
(= e (Find s r k p b)) (= n (rank e)) (< 0 n) => (dictionary e)
(= e (Let x k b)) (dictionary b) => (dictionary e)
(= e (If s c b)) (dictionary b) => (dictionary e)
(= e (Add s a b)) (dictionary a) (dictionary b) => (dictionary e)
(= e (Mul s a b)) (dictionary a) => (dictionary e)
(= e (Mul s a b)) (dictionary b) => (dictionary e)
(= e (Look s m k)) (= n (rank e)) (< 0 n) => (dictionary e)
"""

_LINEARITY = """
(asked e v s) (= e (Var v)) => (linear e v s) (strict e v s)
(linear e v s) => (strict e v s)
(= e (Sum s r k w b)) (linear b v s) (independent r v) (!= v k) (!= v w) => (linear e v s)
(= e (Sum s r k w b)) (dictionary r) (linear r v s) (linear b w s) (independent b v) => (linear e v s)
(= e (Sum s r k w b)) (strict b v s) (!= v k) (!= v w) => (strict e v s)
(= e (Sum s r k w b)) (dictionary r) (strict r v s) => (strict e v s)
(= e (Merge s l r p q x b)) (linear b v s) (independent l v) (independent r v) => (linear e v s)
(= e (Find s r k p b)) (linear b v s) (independent r v) (independent k v) => (linear e v s)
(= e (Merge s l r p q x b)) (strict b v s) => (strict e v s)
(= e (Find s r k p b)) (strict b v s) => (strict e v s)
(= e (Single s k b)) (linear b v s) (independent k v) => (linear e v s)
(= e (Single s k b)) (strict b v s) => (strict e v s)
(= e (Look s m k)) (dictionary m) (linear m v s) (independent k v) => (linear e v s)
(= e (Look s m k)) (dictionary m) (strict m v s) => (strict e v s)
(= e (If s c b)) (linear b v s) (independent c v) => (linear e v s)
(= e (If s c b)) (strict b v s) => (strict e v s)
(= e (If s c b)) (= c (Apply2 "not_equal" (Sum t (Var v) k w a) z)) (is-zero z t) => (strict e v s)
(= e (Add s a b)) (linear a v s) (linear b v s) => (linear e v s)
(= e (Add s a b)) (strict a v s) (strict b v s) => (strict e v s)
(= e (Mul s a b)) (linear a v s) (independent b v) => (linear e v s)
(= e (Mul s a b)) (linear b v s) (independent a v) => (linear e v s)
(= e (Mul s a b)) (strict a v s) => (strict e v s)
(= e (Mul s a b)) (strict b v s) => (strict e v s)
(= e (Apply1 f a)) (conversion f) (linear a v s) => (linear e v s)
(= e (Apply1 f a)) (conversion f) (strict a v s) => (strict e v s)
(= e (Apply1 "negate" a)) (linear a v "plus_times") => (linear e v "plus_times")
(= e (Apply2 "subtract" a b)) (linear a v "plus_times") (linear b v "plus_times") => (linear e v "plus_times")
(= e (Apply1 f a)) (annihilated-by f 0) (strict a v "plus_times") => (strict e v "plus_times")
(= e (Apply2 f a b)) (annihilated-by f 0) (strict a v "plus_times") => (strict e v "plus_times")
(= e (Apply2 f a b)) (annihilated-by f 1) (strict b v "plus_times") => (strict e v "plus_times")
(= e (Apply2 f a b)) (zero-preserving f) (strict a v s) (strict b v s) (= s "plus_times") => (strict e v s)
"""

_SELECTION = """
(= e (If s (Apply2 "equal" (Var v) x) b)) (independent x v) => (selects e v)
(= e (Sum s r k w b)) (selects b v) (independent r v) (!= v k) (!= v w) => (selects e v)
"""

_LOOSENESS = """
(= e (Sum s r k v b)) (dictionary r) => (asked b v s) (visits)
(= e (Reduce m r k v b)) (dictionary r) => (visits)
(= e (Look s m k)) (dictionary m) => (visits)
(asked (Mul s a b) v s) => (asked a v s) (asked b v s)
(asked (Add s a b) v s) => (asked a v s) (asked b v s)
(asked (Sum s r k w b) v s) => (asked r v s) (asked b v s)
(asked (Look s m k) v s) => (asked m v s)
(asked (Find s r k p b) v s) => (asked b v s)
(asked (Merge s l r p q x b) v s) => (asked b v s)
(asked (Single s k b) v s) => (asked b v s)
(asked (If s c b) v s) => (asked b v s)
(asked (Apply1 f a) v s) => (asked a v s)
(asked (Apply2 f a b) v s) => (asked a v s) (asked b v s)
(asked e v s) (independent e v) => (loose e v s)
(asked e v s) (= e (Mul s a b)) (loose a v s) (loose b v s) => (loose e v s)
(asked e v s) (= e (Add s a b)) (loose a v s) => (loose e v s)
(asked e v s) (= e (Add s a b)) (loose b v s) => (loose e v s)
(asked e v s) (= e (Sum s r k w b)) (loose b v s) (loose r v s) => (loose e v s)
(asked e v s) (= e (Slice r a b)) => (loose e v s)
(asked e v s) (= e (Range a b)) => (loose e v s)
(asked e v s) (= e (Find s r k p b)) (loose b v s) => (loose e v s)
(asked e v s) (= e (Merge s l r p q x b)) (loose b v s) => (loose e v s)
(asked e v s) (= e (Single s k b)) (loose b v s) => (loose e v s)
(asked e v s) (= e (If s c b)) (loose b v s) => (loose e v s)
(asked e v s) (= e (Look t m k)) (loose m v s) => (loose e v s)
(asked e v s) (= e (Apply1 f a)) (loose-function f) => (loose e v s)
(asked e v s) (= e (Apply1 f a)) (loose a v s) => (loose e v s)
(asked e v s) (= e (Apply2 f a b)) (loose-function f) => (loose e v s)
(asked e v s) (= e (Apply2 f a b)) (loose a v s) => (loose e v s)
(asked e v s) (= e (Apply2 f a b)) (loose b v s) => (loose e v s)
(asked e v s) (= e (Apply3 f a b c)) => (loose e v s)
(asked e v s) (= e (Reduce m r k w b)) => (loose e v s)
(asked e v s) (= e (Apply1 f a)) (!= s "plus_times") (no-conversion f) => (loose e v s)
(asked e v s) (= e (Apply2 f a b)) (!= s "plus_times") => (loose e v s)
(asked e v s) (= e (Mul t a b)) (!= s t) => (loose e v s)
(asked e v s) (= e (Add t a b)) (!= s t) => (loose e v s)
(asked e v s) (= e (Sum t r k w b)) (!= s t) => (loose e v s)
(visits) (= e (Sum s (Var v) k w b)) (= 0 (rank (Var w))) (independent b v) => (separable e v s)
(= e (Sum s (Var v) k w b)) (separable b w s) (independent b v) => (separable e v s)
(= e (Sum s r k w b)) (separable b v s) (independent r v) => (separable e v s)
(= e (Single s k b)) (separable b v s) (independent k v) => (separable e v s)
(= e (If s c b)) (separable b v s) (independent c v) => (separable e v s)
(= e (Mul s a b)) (separable a v s) (independent b v) => (separable e v s)
(= e (Mul s a b)) (separable b v s) (independent a v) => (separable e v s)
(= t (Sum s r p x e)) (= e (Single s k d)) (apart e p) (independent k p) (independent k x) => (apart d p)
(= t (Sum s r p x e)) (= e (Single s k d)) (apart e x) (independent k p) (independent k x) => (apart d x)
(apart e v) (= 1 (rank e)) => (distinct e v)
(= e (Zero s r)) (< 0 r) (visits) => (over e s)
(= e (Single s k v)) (= 0 (rank v)) (visits) => (over e s)
(= e (Single s k v)) (over v s) => (over e s)
(= e (Sum s r k v b)) (over b s) => (over e s)
(= e (Find s r k p b)) (over b s) => (over e s)
(= e (Merge s l r p q x b)) (over b s) => (over e s)
(= e (If s c b)) (over b s) => (over e s)
(= e (Add s a b)) (over a s) (over b s) => (over e s)
"""

# Equal singletons of one key have equal values.
_INJECTIVITY = """
(= e (Single s k a)) (= e (Single s k b)) => (union a b)
"""

_ORDER = """
(= e (Range l h)) => (increasing e) (ascending e)
(increasing e) => (ascending e)
(= e (Slice a l h)) (ascending a) => (ascending e)
(= e (Slice a l h)) (increasing a) => (increasing e)
(= e (Slice a (Look s p i) (Look t p j))) (= j (Add u i (Int 1))) (within a p) => (increasing e) (ascending e)
"""


def _sides(text: str) -> Iterator[tuple[str, str]]:
    """Yield the facts and the actions of rules, each of which is a line with those that are indented."""
    for line in text.replace("\n  ", " ").splitlines():
        if line:
            facts, _, actions = line.partition("=>")
            yield facts, actions


def program(encoding: Encoding) -> str:
    """Return the declarations and the rules of all analyses, and of the encoding's operators."""
    text = "\n".join((BOUNDS, _RANKS, _LINEARITY, _SELECTION, _LOOSENESS, _INJECTIVITY, _ORDER))
    rules = [
        rule(*encoding.analysis(f"{facts} {fitting(actions)}", actions), f"{ruleset}-{i}", ruleset)
        for ruleset, lines in (("scope", _GIVEN), ("analysis", text))
        for i, (facts, actions) in enumerate(_sides(lines))
    ]
    facts = [
        *(f'(index-like "{name}")' for name in ("index", "plus_times")),
        *(f'(zero-preserving "{name}")' for name, function in FUNCTIONS.items() if function.preserves_zero),
        *(
            f'({"no-conversion" if function.conversion is None else "conversion"} "{name}")'
            for name, function in FUNCTIONS.items()
        ),
        *(
            f'(loose-function "{name}")'
            for name, function in FUNCTIONS.items()
            if not function.preserves_zero and not function.annihilators
        ),
        *(
            f'(annihilated-by "{name}" {position})'
            for name, function in FUNCTIONS.items()
            for position in function.annihilators
        ),
    ]
    return "\n".join((_DECLARATIONS, *facts, *rules, *encoding.program()))
