import type { Form, FormField } from '$lib/api/types/leads';
import { words } from '$words/admin';

/** Returns the HTML of a form, to be pasted into a site. Everything from the settings is escaped. */
export function formHtml(form: Form): string {
  const id = (name: string) => escape(`${form.name}-${name}`);
  const lines = [`<form action="${escape(form.action)}" method="post">`];
  for (const field of form.fields) {
    lines.push('  <p>', `    <label for="${id(field.name)}">${escape(labelOf(field.name))}</label><br>`);
    lines.push(`    ${control(field, id(field.name))}`, '  </p>');
  }
  if (form.consent) {
    const { field, text, version, required } = form.consent;
    lines.push('  <p>', '    <label>');
    lines.push(
      `      <input type="checkbox" name="${escape(field)}" value="yes"${required ? ' required' : ''}>`,
    );
    lines.push(`      ${escape(text ?? '')}`, '    </label>', '  </p>');
    if (version) lines.push(hidden(`${field}_version`, version));
  }
  // Programs fill in what people cannot see.
  lines.push(
    '  <div hidden>',
    `    <input name="${escape(form.honeypot)}" tabindex="-1" autocomplete="off">`,
    '  </div>',
  );
  if (form.started) lines.push(`  <input type="hidden" name="${escape(form.started)}">`);
  lines.push(`  <button>${escape(words.forms.send)}</button>`, '</form>');
  if (form.started) {
    const selector = `input[name="${form.started}"]`;
    const script = `for (const field of document.querySelectorAll(${JSON.stringify(selector)})) field.value = Date.now();`;
    lines.push(`<script>${script}</script>`);
  }
  return lines.join('\n');
}

function control({ name, required, kind }: FormField, id: string): string {
  const attributes = `id="${id}" name="${escape(name)}"${required ? ' required' : ''}`;
  if (kind === 'long') return `<textarea ${attributes} rows="5"></textarea>`;
  const [type, complete] = {
    email: ['email', 'email'],
    phone: ['tel', 'tel'],
    name: ['text', 'name'],
    text: ['text', ''],
  }[kind];
  return `<input type="${type}" ${attributes}${complete ? ` autocomplete="${complete}"` : ''}>`;
}

function hidden(name: string, value: string): string {
  return `  <input type="hidden" name="${escape(name)}" value="${escape(value)}">`;
}

/** `first_name` becomes "First name". */
export function labelOf(name: string): string {
  const text = name.replace(/[_-]+/g, ' ').trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
