// Explanations beside the words: on hover, on touch and by keyboard; Escape closes them.

function explainTerms() {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  let shownFor = null;

  const hide = () => { tip.hidden = true; shownFor = null; };
  const show = (word) => {
    const found = document.getElementById(word.getAttribute("href").slice(1));
    tip.textContent = found.textContent;
    tip.hidden = false;
    shownFor = word;
    place(tip, word.getBoundingClientRect());
  };

  for (const word of document.querySelectorAll(".term")) {
    word.addEventListener("mouseenter", () => show(word));
    word.addEventListener("mouseleave", (event) => { if (event.relatedTarget !== tip) hide(); });
    word.addEventListener("focus", () => show(word));
    word.addEventListener("blur", hide);
    word.addEventListener("click", (event) => { event.preventDefault(); show(word); });
  }
  tip.addEventListener("mouseleave", hide);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  const follow = () => { if (shownFor) place(tip, shownFor.getBoundingClientRect()); };
  addEventListener("scroll", follow, { passive: true });
}

/** Below the word, or above where there is no room; never beyond the edge of the screen. */
function place(tip, word) {
  const room = 8;
  const { width, height } = tip.getBoundingClientRect();
  const below = word.bottom + room + height < innerHeight;
  tip.style.left = `${Math.max(room, Math.min(word.left, innerWidth - width - 2 * room))}px`;
  tip.style.top = `${below ? word.bottom + 2 : Math.max(room, word.top - height - 2)}px`;
}
