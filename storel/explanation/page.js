for (const button of document.querySelectorAll("[data-open]"))
  button.onclick = () => {
    for (const each of document.querySelectorAll(".tree details"))
      each.open = button.dataset.open === "true";
  };
for (const choices of document.querySelectorAll(".choices"))
  choices.querySelectorAll("input").forEach((box, number) => {
    box.onchange = () => { choices.nextElementSibling.children[number].hidden = !box.checked; };
  });
