import { session } from './session.svelte';
import { Setting } from './setting.svelte';

/** Whether the user has started a project in this browser: projects do not tell who has created them. */
export function startedProject(): Setting<boolean> {
  return new Setting<boolean>(`started-project.${session.user?.id ?? ''}`, false);
}
