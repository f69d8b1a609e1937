// Shows the chosen stage of both sides.
for (const choice of document.querySelectorAll("select[data-texts]")) {
  const show = () => {
    for (const text of document.querySelectorAll(`#${choice.dataset.texts} > [data-stage]`))
      text.hidden = text.dataset.stage !== choice.value;
  };
  choice.addEventListener("change", show);
  show();
}
