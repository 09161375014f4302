/** Names that users of gh, docker, kubectl, aws, stripe, vercel and tailscale try first. Real names always win. */
import { contracts } from '#modules/contracts.ts'
import { kebab } from '../words.ts'

const remove = ['trash', 'delete', 'remove', 'revoke', 'unlink']
const read = ['get', 'metadata']
const create = ['create', 'add', 'send', 'upload']

/** Verbs by their aliases. The first one the area has is used; of several ways to remove, the recoverable one. */
export const verbs: Readonly<Record<string, readonly string[]>> = {
  ls: ['list', 'models', 'accounts'],
  list: ['models', 'accounts'],
  rm: remove,
  del: remove,
  delete: remove,
  remove,
  get: read,
  show: read,
  view: read,
  info: read,
  inspect: read,
  describe: read,
  retrieve: read,
  stat: read,
  cat: ['content', ...read],
  new: create,
  create,
  add: create,
  make: create,
  up: ['upload'],
  put: ['upload'],
  mkdir: ['create-folder'],
  edit: ['update'],
  set: ['update'],
  modify: ['update'],
  rename: ['update'],
  cp: ['copy'],
  mv: ['move'],
  find: ['glob', 'search'],
  search: ['grep', 'search-models'],
  kill: ['cancel', 'stop'],
  abort: ['cancel', 'stop'],
  trigger: ['fire'],
  run: ['fire'],
  logs: ['content', 'requests', 'deliveries', 'events', 'runs'],
  history: ['versions', 'content-versions', 'runs'],
  wait: ['await'],
  follow: ['events', 'subscribe', 'await'],
  watch: ['events', 'subscribe', 'await'],
  tail: ['events', 'subscribe', 'requests'],
  undelete: ['restore'],
}

/** Areas by aliases other than their singular. */
const areas: Readonly<Record<string, string>> = {
  key: 'api-keys',
  keys: 'api-keys',
  provider: 'ai-gateway',
  providers: 'ai-gateway',
  gateway: 'ai-gateway',
  file: 'drive',
  files: 'drive',
  team: 'workspaces',
  teams: 'workspaces',
  hook: 'webhooks',
  hooks: 'webhooks',
  job: 'operations',
  jobs: 'operations',
  preferences: 'settings',
  identity: 'identities',
}

/** Whole commands by the words that start them. */
const commands: readonly (readonly [typed: string, meant: string])[] = [
  ['auth login', 'login'],
  ['auth logout', 'logout'],
  ['auth status', 'whoami'],
  ['auth whoami', 'whoami'],
  ['signin', 'login'],
  ['sign-in', 'login'],
  ['signout', 'logout'],
  ['sign-out', 'logout'],
  ['signup', 'sign-up'],
  ['register', 'sign-up'],
  ['status', 'whoami'],
  ['browse', 'open'],
  ['config list', 'config'],
  ['config ls', 'config'],
  ['ssh', 'computer ssh'],
  ['exec', 'computer exec'],
  ['cp', 'computer cp'],
  ['computers ssh', 'computer ssh'],
  ['computers cp', 'computer cp'],
  ['upload', 'drive upload'],
  ['download', 'drive download'],
  ['ps', 'operations list'],
  ['usage', 'me usage'],
  ['watch', 'listen'],
  ['tail', 'listen'],
  ['switch', 'workspaces use'],
  ['workspaces switch', 'workspaces use'],
  ['teams switch', 'workspaces use'],
]

const bare: Readonly<Record<string, readonly string[]>> = {
  ls: ['chats list', 'drive list', 'computers list'],
  list: ['chats list', 'drive list', 'computers list'],
  rm: ['drive trash', 'chats trash'],
  delete: ['drive trash', 'chats trash'],
  get: ['drive download', 'me get'],
  new: ['chats create', 'agents create'],
  create: ['chats create', 'agents create'],
  up: ['computer run', 'drive upload'],
  run: ['ask', 'automations fire', 'computer exec'],
  logs: ['ai-gateway requests', 'operations content'],
  set: ['settings update'],
}
export const bareVerb = (word: string): readonly string[] => bare[word] ?? []

/** Replaces the first words by the command they are an alias of. */
export function expandCommand(words: readonly string[]): string[] {
  for (const [typed, meant] of commands) {
    const parts = typed.split(' ')
    if (parts.every((part, i) => words[i] === part)) return [...meant.split(' '), ...words.slice(parts.length)]
  }
  return [...words]
}

export function areaOf(word: string): string | undefined {
  const names = Object.keys(contracts).map(kebab)
  return areas[word] ?? names.find((name) => name === `${word}s`)
}

/** For tests: a typo that is an alias is a valid word. */
export const isAlias = (word: string): boolean =>
  areaOf(word) !== undefined || commands.some(([typed]) => typed.split(' ')[0] === word) || word in bare
