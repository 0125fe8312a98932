import { knowledge, ok } from '$lib/api/client';
import type { Member } from '$lib/api/types/knowledge';
import { session } from '$lib/session.svelte';
import type { Role } from '$lib/spaces/spaces.svelte';

/** The members of a space. */
export class MemberList {
  list = $state.raw<Member[]>([]);
  loaded = $state(false);
  error = $state.raw<unknown>(null);
  /** The user as a member; none if their role is everyone's. */
  readonly own = $derived(this.list.find(({ userId }) => userId === session.user?.id));

  constructor(readonly spaceId: string) {}

  async load(): Promise<void> {
    try {
      const params = { path: { id: this.spaceId } };
      const { members } = await ok(knowledge.GET('/api/spaces/{id}/members', { params }));
      Object.assign(this, { list: members, loaded: true, error: null });
    } catch (thrown) {
      this.error = thrown;
    }
  }

  /** Adds a member, or changes the role of one. `user` is an id, a username or an email address. */
  async put(user: string, role: Role): Promise<Member> {
    const call = { params: { path: { id: this.spaceId } }, body: { user, role } };
    const { member } = await ok(knowledge.POST('/api/spaces/{id}/members', call));
    const isKnown = this.list.some(({ userId }) => userId === member.userId);
    this.list = isKnown
      ? this.list.map((other) => (other.userId === member.userId ? member : other))
      : [...this.list, member];
    return member;
  }

  async remove({ userId }: Member): Promise<void> {
    const params = { path: { id: this.spaceId, user: userId } };
    await ok(knowledge.DELETE('/api/spaces/{id}/members/{user}', { params }));
    this.list = this.list.filter((member) => member.userId !== userId);
  }
}

export const nameOf = ({ name, username }: Member) => name || username;
