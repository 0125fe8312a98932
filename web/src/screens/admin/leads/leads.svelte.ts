import { fetchOk, leads as service, nextPage, ok, whole } from '$lib/api/client';
import { failure } from '$lib/api/failure';
import type { Lead, Status } from '$lib/api/types/leads';
import { download } from '$lib/browser';
import { toasts } from '$lib/toasts.svelte';
import { words } from '$words/admin';
import { SvelteSet } from 'svelte/reactivity';

export type Filter = { form?: string; status?: Status; email?: string };
const PAGE = 200;

export const whoOf = (lead: Lead) => lead.email ?? words.leads.noEmail;
export const canRetry = ({ status }: Lead) => status === 'failed' || status === 'spam';

/** The leads that fit a filter, as far as they were read. */
class Leads {
  #all = $state.raw<Lead[]>([]);
  /** Those whose erasure can still be undone. */
  #hidden = new SvelteSet<string>();
  #filter: Filter = {};
  #next: string | null = null;
  #asked = new AbortController();
  #busy = false;
  loaded = $state(false);
  /** Whether leads are sent on to a CRM; null until that is known. */
  hasCrm = $state<boolean | null>(null);
  /** Whether any has failed, of the form that is looked at. */
  someFailed = $state(false);
  error = $state.raw<unknown>(null);
  /** What an action has done, or why it failed. */
  notice = $state<{ text: string; failed: boolean } | null>(null);
  list = $derived.by(() => this.#all.filter(({ id }) => !this.#hidden.has(id)));

  /** Reads the leads of a filter. An answer to an earlier filter is dropped. */
  async load(filter: Filter): Promise<void> {
    this.#asked.abort();
    this.#asked = new AbortController();
    if (JSON.stringify(filter) !== JSON.stringify(this.#filter)) {
      this.#all = [];
      this.loaded = false;
    }
    this.#filter = filter;
    await Promise.all([this.#read(null, this.#asked.signal), this.#lookForFailed(this.#asked.signal)]);
  }

  async #lookForFailed(signal: AbortSignal): Promise<void> {
    const query = { form: this.#filter.form, status: 'failed' as const, limit: 1 };
    const failed = await ok(service.GET('/api/leads', { params: { query }, signal })).catch(() => []);
    if (!signal.aborted) this.someFailed = failed.length > 0;
  }

  async more(): Promise<void> {
    if (this.#next && !this.#busy) await this.#read(this.#next, this.#asked.signal);
  }

  async #read(after: string | null, signal: AbortSignal): Promise<void> {
    this.#busy = true;
    try {
      const query = { ...this.#filter, limit: PAGE, ...(after && { after }) };
      const { data, headers } = await whole(service.GET('/api/leads', { params: { query }, signal }));
      if (signal.aborted) return;
      this.#all = after ? [...this.#all, ...data] : data;
      this.#next = nextPage(headers);
      this.loaded = true;
      this.error = null;
    } catch (thrown) {
      if (!signal.aborted) this.error = thrown;
    } finally {
      this.#busy = false;
    }
  }

  find(id: string): Lead | undefined {
    return this.#all.find((lead) => lead.id === id);
  }

  put(lead: Lead): void {
    this.#all = this.#all.map((old) => (old.id === lead.id ? lead : old));
  }

  async retry(lead: Lead): Promise<void> {
    await this.#do(async () => {
      const { status } = await ok(
        service.POST('/api/leads/{id}/retry', { params: { path: { id: lead.id } } }),
      );
      this.put({ ...lead, status, error: null });
      return words.leads.retried(1);
    });
  }

  async retryFailed(): Promise<void> {
    await this.#do(async () => {
      const { form } = this.#filter;
      const { retried } = await ok(
        service.POST('/api/leads/failed/retry', { params: { query: form ? { form } : {} } }),
      );
      await this.load(this.#filter);
      return words.leads.retried(retried);
    });
  }

  /** Erases a lead once that can no longer be undone. */
  erase(lead: Lead): void {
    this.notice = null;
    this.#hidden.add(lead.id);
    const commit = async () => {
      const params = { path: { name: lead.id } };
      const { status } = await ok(service.DELETE('/api/leads/{name}', { params, keepalive: true }));
      this.put({ ...lead, status, email: null, fields: {}, consent: null, address: null, error: null });
      this.#hidden.delete(lead.id);
    };
    toasts.undoable(words.leads.erased(whoOf(lead)), commit, (why) => {
      this.#hidden.delete(lead.id);
      if (why) this.notice = { text: words.leads.notErased(why), failed: true };
    });
  }

  async export(): Promise<void> {
    await this.#do(async () => {
      const query = new URLSearchParams(Object.entries(this.#filter).filter(([, value]) => value));
      const response = await fetchOk('kv', `/api/leads/export?${query}`);
      download('leads.csv', await response.blob());
    });
  }

  async #do(action: () => Promise<string | void>): Promise<void> {
    this.notice = null;
    try {
      const text = await action();
      if (text) this.notice = { text, failed: false };
    } catch (thrown) {
      this.notice = { text: failure(thrown).message, failed: true };
    }
  }
}

export const leads = new Leads();
