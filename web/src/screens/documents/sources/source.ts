import type { SourceList } from '$lib/api/types/knowledge';

/** A place that documents come from by themselves. */
export type Source = SourceList['sources'][number];
export type Settings = Source['settings'];
