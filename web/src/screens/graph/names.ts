import { words } from '$words/graph';

export function typeName(type: string): string {
  return words.types[type as keyof typeof words.types] ?? words.otherType;
}
