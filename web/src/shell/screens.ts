import { words as account } from '$words/account';
import { words } from '$words/shell';
import CircleUser from '@lucide/svelte/icons/circle-user';
import FileText from '@lucide/svelte/icons/file-text';
import FolderKanban from '@lucide/svelte/icons/folder-kanban';
import House from '@lucide/svelte/icons/house';
import MessageCircle from '@lucide/svelte/icons/message-circle';
import Search from '@lucide/svelte/icons/search';
import Settings from '@lucide/svelte/icons/settings';
import UsersRound from '@lucide/svelte/icons/users-round';
import Waypoints from '@lucide/svelte/icons/waypoints';
import type { Component } from 'svelte';

export type Screen = {
  /** The first segment of its address. */
  id: string;
  label: string;
  icon: Component;
  /** Opens it, after `g`. */
  key: string;
  admin?: boolean;
  /** Not in the sidebar: the account menu opens it. */
  hidden?: boolean;
  /** In the bar at the bottom of a narrow screen. */
  bottom?: boolean;
  load: () => Promise<{ default: Component }>;
};

/** Every screen, in the order of the sidebar. Each is loaded when it is first opened. */
export const screens: Screen[] = [
  {
    id: '',
    label: words.screens.home,
    icon: House,
    key: 'h',
    bottom: true,
    load: () => import('../screens/home/Home.svelte'),
  },
  {
    id: 'documents',
    label: words.screens.documents,
    icon: FileText,
    key: 'd',
    bottom: true,
    load: () => import('../screens/documents/Documents.svelte'),
  },
  {
    id: 'chat',
    label: words.screens.chat,
    icon: MessageCircle,
    key: 'c',
    bottom: true,
    load: () => import('../screens/chat/Chat.svelte'),
  },
  {
    id: 'projects',
    label: words.screens.projects,
    icon: FolderKanban,
    key: 'p',
    bottom: true,
    load: () => import('../screens/projects/Projects.svelte'),
  },
  {
    id: 'search',
    label: words.screens.search,
    icon: Search,
    key: 's',
    load: () => import('../screens/search/Search.svelte'),
  },
  {
    id: 'graph',
    label: words.screens.graph,
    icon: Waypoints,
    key: 'g',
    load: () => import('../screens/graph/Graph.svelte'),
  },
  {
    id: 'spaces',
    label: words.screens.spaces,
    icon: UsersRound,
    key: 'e',
    load: () => import('../screens/spaces/Spaces.svelte'),
  },
  {
    id: 'admin',
    label: words.screens.admin,
    icon: Settings,
    key: 'a',
    admin: true,
    load: () => import('../screens/admin/Admin.svelte'),
  },
  {
    id: 'account',
    label: account.title,
    icon: CircleUser,
    key: 'u',
    hidden: true,
    load: () => import('../screens/account/Account.svelte'),
  },
];
