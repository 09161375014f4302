/** What is said of computers in one place, so that it is the same everywhere. */
import type { Tone } from '../ui/page.tsx'
import type { Capability, Computer } from './queries.ts'

export const capabilities = ['exec', 'terminal', 'fs_read', 'fs_write', 'ports', 'inference', 'users'] as const

export const capabilityWords: Record<Capability, { label: string; about: string }> = {
  exec: { label: 'Commands', about: 'Run any program as the machine’s user: all that this user has.' },
  terminal: { label: 'Terminals', about: 'Sit at it, which is as much as commands.' },
  fs_read: { label: 'Read files', about: 'List and download, below the folders that the machine allows.' },
  fs_write: { label: 'Write files', about: 'Upload, make and remove, below the folders that the machine allows.' },
  ports: { label: 'Ports', about: 'Open what its programs listen on.' },
  inference: { label: 'Local models', about: 'Call its models, install and remove them.' },
  users: { label: 'Users', about: 'Make, change and remove accounts of its system.' },
}

export const parts = ['terminal', 'files', 'ports', 'models', 'users', 'grants', 'settings'] as const
export type Part = (typeof parts)[number]
export const partWords: Record<Part, string> = {
  terminal: 'Terminal',
  files: 'Files',
  ports: 'Ports',
  models: 'Models',
  users: 'Users',
  grants: 'Grants',
  settings: 'Settings',
}
/** What a part takes; null: whoever sees the computer sees it. */
const needs: Record<Part, Capability | null> = {
  terminal: 'terminal',
  files: 'fs_read',
  ports: 'ports',
  models: 'inference',
  users: 'users',
  grants: null,
  settings: null,
}

/** Whether a computer can be asked for something now, and if not, why. */
export type Standing = { ready: true } | { ready: false; why: string }

/** What keeps a person from a part of a computer: that they may not, or that it is not there. */
export function standingOf(computer: Computer, part: Part): Standing {
  const capability = needs[part]
  // The models of a computer that is away are shown as it last reported them.
  const isShownAway = part === 'models' && computer.my_capabilities.includes('inference')
  if (capability === null || isShownAway) return { ready: true }
  return standingFor(computer, capability)
}

export function standingFor(computer: Computer, capability: Capability): Standing {
  const { allows, kind, my_capabilities, name } = computer
  const what = capabilityWords[capability].label
  if (!my_capabilities.includes(capability))
    return {
      ready: false,
      why: allows.includes(capability)
        ? `“${what}” of ${name} was not lent to you. Ask whoever it belongs to.`
        : kind === 'cloud'
          ? `“${what}” is not for cloud computers: ${name} is a sandbox with one account.`
          : `“${what}” is not allowed on the machine itself. There: uk computer run --allow ${[...allows, capability].join(',')}`,
    }
  return reachOf(computer)
}

/** Whether anything can be asked of it. */
export function reachOf({ connection, lifecycle, kind, name, lifecycle_reason }: Computer): Standing {
  if (connection === 'online') return { ready: true }
  if (kind === 'cloud')
    switch (lifecycle) {
      case 'stopped':
        return { ready: false, why: `${name} is stopped. Its files are kept; start it to use it.` }
      case 'error':
        return { ready: false, why: `${name} has failed: ${lifecycle_reason ?? 'no reason is known'}. Start it again.` }
      case 'provisioning':
      case 'starting':
        return { ready: false, why: `${name} is starting. This page goes on by itself when it is there.` }
      case 'stopping':
        return { ready: false, why: `${name} is being stopped.` }
    }
  return connection === 'never_connected'
    ? { ready: false, why: `${name} has never connected. On the machine: uk computer status` }
    : {
        ready: false,
        why: `${name} is not connected. It comes back by itself once it is on and its daemon runs; on the machine: uk computer status`,
      }
}

export function stateOf({ connection, lifecycle, kind }: Computer): { tone: Tone; words: string } {
  if (kind === 'cloud' && lifecycle === 'error') return { tone: 'bad', words: 'failed' }
  if (kind === 'cloud' && lifecycle !== 'running') return { tone: 'plain', words: lifecycle }
  if (connection === 'online') return { tone: 'good', words: 'online' }
  return { tone: 'plain', words: connection === 'offline' ? 'offline' : 'never connected' }
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
/** Bytes in the unit in which they are short. */
export function size(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1024 ** unit
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

const systems: Record<string, string> = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' }
export const systemOf = ({ os, arch }: Computer): string | null =>
  os === null ? null : [systems[os] ?? os, arch].filter(Boolean).join(' ')
