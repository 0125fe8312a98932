/** Returns a text in Markdown as it is read aloud: without signs of layout, and without the numbers of sources. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/\[\d{1,3}\](?!\()/g, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(```.*|\|?[\s:|-]*-{3,}[\s:|-]*)$/gm, '')
    .replace(/^\s{0,3}(#{1,6}|>|[-*+])\s+/gm, '')
    .replace(/[*_`|]+/g, ' ')
    .replace(/\s+([.,;:!?])/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}
