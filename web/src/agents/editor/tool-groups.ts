import type { Capability } from '#core/scopes.ts'
import type { Policy } from '../queries.ts'
import type { Agent } from '../../shared/agents/queries.ts'

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

export const toolGroups: readonly ToolGroup[] = [
  {
    name: 'Files',
    about: 'Files the person using the agent can access',
    tools: [
      tool('drive.list', 'List files and folders'),
      tool('drive.glob', 'Find files by name'),
      tool('drive.grep', 'Search file contents'),
      tool('drive.content', 'Read text files'),
      tool('drive.upload', 'Create files'),
      tool('drive.update', 'Edit files'),
      tool('drive.create_folder', 'Create folders'),
      tool('drive.move', 'Move files'),
      tool('drive.trash', 'Move files to the trash'),
    ],
  },
  {
    name: 'Web',
    about: 'Public pages',
    tools: [tool('web.search', 'Search the web'), tool('web.fetch', 'Read web pages')],
  },
  {
    name: 'Computers',
    about: 'Computers available to the agent’s workspace',
    tools: [
      tool('computers.list', 'List computers'),
      tool('computers.exec', 'Run commands'),
      tool('computers.fs', 'List, create and delete folders'),
      tool('computers.download', 'Download files from a computer'),
      tool('computers.upload', 'Upload files to a computer'),
      tool('computers.terminal', 'Use terminals'),
      tool('computers.ports', 'List open ports'),
    ],
  },
  {
    name: 'Chats and search',
    about: 'Other conversations',
    tools: [
      tool('search.query', 'Search everything'),
      tool('chats.list', 'List chats'),
      tool('chats.messages', 'Read chats'),
      tool('chats.create', 'Create chats'),
      tool('notifications.send', 'Send notifications'),
    ],
  },
  {
    name: 'Images and audio',
    about: 'Generated and transcribed by models, billed at their price',
    tools: [
      tool('inference.images', 'Generate images'),
      tool('inference.speech', 'Generate speech'),
      tool('inference.transcriptions', 'Transcribe audio'),
    ],
  },
  {
    name: 'Automations',
    about: 'Scheduled and triggered tasks',
    tools: [
      tool('automations.list', 'List automations'),
      tool('automations.create', 'Create automations'),
      tool('automations.runs', 'Read run results'),
    ],
  },
]

const grouped = new Set(toolGroups.flatMap(({ tools }) => tools.map(({ name }) => name)))

export const otherTools = (tools: Tools): Tools => tools.filter(({ name }) => !grouped.has(name))

export const policies: readonly (readonly [Policy | 'off', string])[] = [
  ['off', 'Off'],
  ['ask', 'Ask'],
  ['allow', 'Allow'],
  ['deny', 'Never'],
]

export const policyOf = (tools: Tools, name: string): Policy | 'off' =>
  tools.find((one) => one.name === name)?.policy ?? 'off'

export function policyOfGroup(tools: Tools, group: ToolGroup): Policy | 'off' | 'mixed' {
  const all = new Set(group.tools.map(({ name }) => policyOf(tools, name)))
  return all.size === 1 ? [...all][0]! : 'mixed'
}

/** Sets the policy of these tools. Keeps the order and appends new ones. */
export function withPolicy(tools: Tools, names: readonly string[], policy: Policy | 'off'): Tools {
  if (policy === 'off') return tools.filter(({ name }) => !names.includes(name))
  const changed = tools.map((one) => (names.includes(one.name) ? { ...one, policy } : one))
  const had = new Set(tools.map(({ name }) => name))
  return [...changed, ...names.filter((name) => !had.has(name)).map((name) => ({ name, policy }))]
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

/** Permissions that the agent's tools need on computers and that no computer grants. */
export function missingGrants(tools: Tools, granted: readonly (readonly Capability[])[]): string[] {
  const given = new Set(granted.flat())
  const required = tools.flatMap(({ name, policy }) => (policy === 'deny' ? [] : (needs[name] ?? [])))
  return [...new Set(required)].filter((one) => !given.has(one)).map((one) => saysCapability[one])
}
