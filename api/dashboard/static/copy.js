// Copies what a button names.

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (
  document.querySelectorAll("[data-copy]")
)) {
  // Browsers copy on secure pages only.
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    const code = document.getElementById(button.dataset.copy ?? "");
    await navigator.clipboard.writeText(code?.textContent ?? "");
    button.textContent = "Copied";
  });
}
