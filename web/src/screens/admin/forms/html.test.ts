import type { Form } from '$lib/api/types/leads';
import { describe, expect, it } from 'vitest';
import { formHtml, labelOf } from './html';

const form: Form = {
  name: 'contact',
  fields: [
    { name: 'first_name', required: true, kind: 'name' },
    { name: 'email', required: true, kind: 'email' },
    { name: 'message', required: false, kind: 'long' },
  ],
  origins: [],
  returnTo: null,
  action: 'https://stoa.example.org/kv/api/leads/contact',
  honeypot: '_gotcha',
  started: '_started',
  consent: { field: '_consent', text: 'You may <call> me & write.', version: '2026-11', required: true },
};

/** Reads the HTML as a browser does. */
function parsed(html: string): DocumentFragment {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content;
}

describe('the HTML of a form', () => {
  it('has every field with its label, and what the service needs', () => {
    const page = parsed(formHtml(form));
    expect(page.querySelector('form')?.getAttribute('action')).toBe(form.action);
    for (const { name, required } of form.fields) {
      const control = page.querySelector(`[name="${name}"]`)!;
      expect(control.hasAttribute('required'), name).toBe(required);
      expect(page.querySelector(`label[for="${control.id}"]`)?.textContent).toBe(labelOf(name));
    }
    expect(page.querySelector('[name="_gotcha"]')?.closest('[hidden]')).not.toBeNull();
    expect(page.querySelector('[name="_consent"]')?.hasAttribute('required')).toBe(true);
    expect(page.querySelector('script')?.textContent).toContain('Date.now()');
  });

  it('shows what the settings say as text', () => {
    const hostile = { ...form, name: '"><script>alert(1)</script>', started: null, consent: null };
    const page = parsed(
      formHtml({ ...hostile, fields: [{ name: '"onfocus=alert(1) x="', required: false, kind: 'text' }] }),
    );
    expect(page.querySelector('script')).toBeNull();
    expect(page.querySelector('[onfocus]')).toBeNull();
    expect(parsed(formHtml(form)).textContent).toContain('You may <call> me & write.');
  });

  it('makes labels of names', () => {
    expect(labelOf('first_name')).toBe('First name');
  });
});
