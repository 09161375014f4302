import { type Terminal, clean, fit } from '../terminal.ts'
import { card, isThing } from './table.ts'

type Row = Record<string, unknown>

interface Creation {
  noun: string
  verb?: string
  /** Its page in the app. `:id` and the like are response fields. */
  page: string
  /** Fields to take its name from, best first. */
  named?: readonly string[]
  /** Fields shown only once, or the command's main result. */
  shows?: readonly string[]
}

const chat = { noun: 'chat', page: '/chats/:id' }
const agent = { noun: 'agent', page: '/agents/:id' }
const file = { noun: 'file', page: '/drive/file/:id' }

export const creations: Readonly<Record<string, Creation>> = {
  'me.request_credits': { verb: 'Sent', noun: 'credit request', page: '/ai-routing/usage', named: [] },
  'api_keys.create': { noun: 'API key', page: '/ai-routing/keys', shows: ['key'] },
  'workspaces.create': { noun: 'workspace', page: '/workspaces/:id' },
  'members.add': { verb: 'Added', noun: 'member', page: '/workspaces/:workspace_id' },
  'invitations.create': { noun: 'invitation', page: '/workspaces/:workspace_id', shows: ['url', 'token'] },
  'shares.create': { noun: 'share', page: '/shared-by-me', shows: ['url', 'token'] },
  'agents.create': agent,
  'agents.copy_to_workspace': { ...agent, verb: 'Copied' },
  'chats.create': chat,
  'chats.copy_to_agent': { ...chat, verb: 'Copied' },
  'chats.copy_to_workspace': { ...chat, verb: 'Copied' },
  'chats.fork_to_workspace': { ...chat, verb: 'Forked' },
  'chats.import': { ...chat, verb: 'Imported' },
  'chats.start_goal': { verb: 'Started', noun: 'goal', page: '/chats/:chat_id' },
  'automations.create': { noun: 'automation', page: '/automations/:id', shows: ['token', 'secret'] },
  'cloud_computers.create': { noun: 'computer', page: '/computers/:id' },
  'computers.expose': { noun: 'exposure', page: '/computers/:computer_id' },
  'computer_pairings.create': {
    noun: 'pairing',
    page: '/computers',
    shows: ['token', 'code', 'command', 'install_command'],
  },
  'drive.upload': { ...file, verb: 'Uploaded' },
  'drive.create_folder': file,
  'drive.copy': { ...file, verb: 'Copied' },
  'notifications.send': { verb: 'Sent', noun: 'notification', page: '/inbox' },
  'webhooks.create': { noun: 'webhook', page: '/developer/webhooks/:id', shows: ['secret'] },
  'ai_gateway.create': { noun: 'provider', page: '/ai-routing' },
}

const NAMES = ['title', 'name', 'email', 'objective']
const LONGEST_NAME = 60

interface Answer {
  name: string
  data: Row
  /** HTTP status: 200 if the resource already existed. */
  status: number
  origin: string
}

/**
 * Renders `Created chat "Trip"  https://…/app/chats/01…`, and secrets shown only now. Null for commands that create
 * nothing.
 */
export function createdLines({ name, data, status, origin }: Answer, terminal: Terminal): string | null {
  const creation = creations[name]
  if (creation === undefined) return null
  if (isOperation(data)) {
    if (data.status !== 'succeeded' && 'completed_at' in data && data.completed_at !== null) return null
    if (isThing(data.result)) return createdLines({ name, data: data.result, status, origin }, terminal)
    return `Creating ${creation.noun} in the background (${clean(String(data.id))})  ${origin}/app/operations/${encodeURIComponent(String(data.id))}\n`
  }
  const isFolder = data.kind === 'folder' && creation.noun === 'file'
  const page = isFolder ? '/drive/f/:id' : creation.page
  const path = page.replaceAll(/:(\w+)/g, (_, field: string) => encodeURIComponent(String(data[field] ?? '')))
  const verb = verbFor(creation, name, data, status)
  const label = (creation.named ?? NAMES)
    .map((field) => data[field])
    .find((word) => typeof word === 'string' && word !== '')
  const words = [
    `${verb} ${isFolder ? 'folder' : creation.noun}`,
    ...(label === undefined ? [] : [`"${fit(clean(String(label)).replaceAll(/\s+/g, ' '), LONGEST_NAME)}"`]),
    ...(page.includes(':id') || typeof data.id !== 'string' ? [] : [`(${clean(data.id)})`]),
  ]
  const shows = [...(creation.shows ?? []), ...(name === 'ai_gateway.create' ? troubleIn(data) : [])]
  const further = Object.fromEntries(
    shows.filter((field) => typeof data[field] === 'string').map((field) => [field, data[field]]),
  )
  return `${words.join(' ')}  ${origin}/app${path}\n${card(further, terminal)}`
}

/** Whether this is a background operation whose result is the new resource. Failed ones are shown in full. */
const isOperation = (data: Row): boolean => 'progress' in data && 'result' in data && 'status' in data

/** Fields that explain why a new provider isn't working. */
const troubleIn = ({ status }: Row): readonly string[] =>
  ['untested', 'working', 'disabled'].includes(String(status)) ? [] : ['status', 'status_reason', 'last_error']

function verbFor({ verb = 'Created' }: Creation, name: string, data: Row, status: number): string {
  if (name === 'drive.create_folder' && status === 200) return 'Found'
  if (name === 'drive.upload' && Number(data.content_version) > 1) return 'Updated'
  return verb
}
