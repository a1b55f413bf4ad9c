// element makes an HTML element. Children are elements or text, and text is never read as HTML: names that come from
// services cannot become part of the page.
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) {
      made[key] = value;
    } else {
      made.setAttribute(key, value);
    }
  }
  made.append(...children.filter((child) => child !== null && child !== ''));
  return made;
}
