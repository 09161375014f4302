import type { Capability } from '#core/scopes.ts'
import type { Agent, Policy } from '../queries.ts'

export type Tools = Agent['tools']

export interface Tool {
  name: string
  does: string
}
export interface ToolGroup {
  name: string
  about: string
  tools: readonly Tool[]
}

const tool = (name: string, does: string): Tool => ({ name, does })

/** The tools that most agents use, by what they are for. Every other endpoint can be named by itself. */
export const toolGroups: readonly ToolGroup[] = [
  {
    name: 'Files',
    about: 'Of the drives that whoever talks to it reaches',
    tools: [
      tool('drive.list', 'List files and folders'),
      tool('drive.glob', 'Find files by their names'),
      tool('drive.grep', 'Search what is in files'),
      tool('drive.content', 'Read the text of a file'),
      tool('drive.upload', 'Make a file'),
      tool('drive.update', 'Change a file'),
      tool('drive.create_folder', 'Make a folder'),
      tool('drive.move', 'Move a file'),
      tool('drive.trash', 'Move a file to the trash'),
    ],
  },
  {
    name: 'Web',
    about: 'Public pages',
    tools: [tool('web.search', 'Search the web'), tool('web.fetch', 'Read a page')],
  },
  {
    name: 'Computers',
    about: 'Those that its workspace may use',
    tools: [
      tool('computers.list', 'See which computers there are'),
      tool('computers.exec', 'Run commands'),
      tool('computers.fs', 'Look at folders, make and remove'),
      tool('computers.download', 'Read files of a computer'),
      tool('computers.upload', 'Write files of a computer'),
      tool('computers.terminal', 'Use terminals'),
      tool('computers.ports', 'See what listens'),
    ],
  },
  {
    name: 'Chats and search',
    about: 'What was said elsewhere',
    tools: [
      tool('search.query', 'Search everything'),
      tool('chats.list', 'List chats'),
      tool('chats.messages', 'Read a chat'),
      tool('chats.create', 'Begin a chat'),
      tool('notifications.send', 'Send a notification'),
    ],
  },
  {
    name: 'Pictures and sound',
    about: 'Made and read by models, at their price',
    tools: [
      tool('inference.images', 'Make pictures'),
      tool('inference.speech', 'Say a text'),
      tool('inference.transcriptions', 'Write down a recording'),
    ],
  },
  {
    name: 'Automations',
    about: 'Work that comes again',
    tools: [
      tool('automations.list', 'List automations'),
      tool('automations.create', 'Make an automation'),
      tool('automations.runs', 'Read how they went'),
    ],
  },
]

const grouped = new Set(toolGroups.flatMap(({ tools }) => tools.map(({ name }) => name)))

/** Tools that it has and that stand in no group. */
export const otherTools = (tools: Tools): Tools => tools.filter(({ name }) => !grouped.has(name))

export const policies: readonly (readonly [Policy | 'off', string])[] = [
  ['off', 'Off'],
  ['ask', 'Asks first'],
  ['allow', 'Allowed'],
  ['deny', 'Never'],
]

export const policyOf = (tools: Tools, name: string): Policy | 'off' =>
  tools.find((one) => one.name === name)?.policy ?? 'off'

/** The policy that all tools of a group share. */
export function policyOfGroup(tools: Tools, group: ToolGroup): Policy | 'off' | 'mixed' {
  const all = new Set(group.tools.map(({ name }) => policyOf(tools, name)))
  return all.size === 1 ? [...all][0]! : 'mixed'
}

/** The tools with another policy for these; in their order, new ones behind. */
export function withPolicy(tools: Tools, names: readonly string[], policy: Policy | 'off'): Tools {
  if (policy === 'off') return tools.filter(({ name }) => !names.includes(name))
  const kept = tools.map((one) => (names.includes(one.name) ? { ...one, policy } : one))
  const had = new Set(tools.map(({ name }) => name))
  return [...kept, ...names.filter((name) => !had.has(name)).map((name) => ({ name, policy }))]
}

const needs: Readonly<Record<string, Capability>> = {
  'computers.exec': 'exec',
  'computers.terminal': 'terminal',
  'computers.fs': 'fs_read',
  'computers.download': 'fs_read',
  'computers.upload': 'fs_write',
  'computers.ports': 'ports',
  'computers.users': 'users',
}
const saysCapability: Record<Capability, string> = {
  exec: 'run commands',
  terminal: 'use terminals',
  fs_read: 'read files',
  fs_write: 'write files',
  ports: 'see ports',
  inference: 'use local models',
  users: 'manage users',
}

/** The things that an agent's tools do on computers and that no computer allows its workspace, in words. */
export function missingGrants(tools: Tools, granted: readonly (readonly Capability[])[]): string[] {
  const given = new Set(granted.flat())
  const wanted = tools.flatMap(({ name, policy }) => (policy === 'deny' ? [] : (needs[name] ?? [])))
  return [...new Set(wanted)].filter((one) => !given.has(one)).map((one) => saysCapability[one])
}
