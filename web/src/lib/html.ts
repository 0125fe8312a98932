/** Returns a text that HTML shows as it is, also as the value of an attribute. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
