/** Returns what a service says as a person would: without the marks of code, and settings for administrators only. */
export function plainly(text: string, isAdmin = false): string {
  const said = isAdmin ? text : text.replace(/, or have [A-Z_]+ raised/g, '');
  return said.replace(/`([^`]*)`/g, '$1');
}
