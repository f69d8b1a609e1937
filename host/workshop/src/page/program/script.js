// A link to a kernel opens it.
function open() {
  const kernel = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (kernel instanceof HTMLDetailsElement) {
    kernel.open = true;
    kernel.scrollIntoView();
  }
}
addEventListener("hashchange", open);
open();
