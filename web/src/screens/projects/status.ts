import type { Tone } from '$lib/ui/Badge.svelte';
import type { AgentStage } from './run/run-state';

/** The colour and icon of each status. The word stands beside it, always. */
export const statusTone: Record<string, Tone> = {
  active: 'neutral',
  running: 'busy',
  interrupted: 'warn',
  complete: 'ok',
  error: 'error',
  cancelled: 'neutral',
};

export const stageTone: Record<AgentStage, Tone> = {
  idle: 'neutral',
  starting: 'busy',
  writing: 'busy',
  complete: 'ok',
  waiting: 'warn',
  rejected: 'warn',
  interrupted: 'warn',
  error: 'error',
};
