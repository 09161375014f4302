import type { Tone } from '../ui/page.tsx'
import type { Capability, Computer } from './queries.ts'

export const capabilities = ['exec', 'terminal', 'fs_read', 'fs_write', 'ports', 'inference', 'users'] as const

export const capabilityWords: Record<Capability, { label: string; about: string }> = {
  exec: { label: 'Commands', about: 'Run programs as the machine’s user, with full access to that account.' },
  terminal: { label: 'Terminals', about: 'Use terminals, which gives the same access as Commands.' },
  fs_read: { label: 'Read files', about: 'List and download files in the folders the machine allows.' },
  fs_write: { label: 'Write files', about: 'Upload, create and delete files in the folders the machine allows.' },
  ports: { label: 'Ports', about: 'Open ports that programs listen on.' },
  inference: { label: 'Local models', about: 'Use, install and remove local models.' },
  users: { label: 'Users', about: 'Create, edit and delete operating system accounts.' },
}

export const parts = ['terminal', 'files', 'ports', 'models', 'users', 'grants', 'settings'] as const
export type Part = (typeof parts)[number]
export const partWords: Record<Part, string> = {
  terminal: 'Terminal',
  files: 'Files',
  ports: 'Ports',
  models: 'Models',
  users: 'Users',
  grants: 'Sharing',
  settings: 'Settings',
}
/** The permission a tab requires; null: visible to everyone with access. */
const needs: Record<Part, Capability | null> = {
  terminal: 'terminal',
  files: 'fs_read',
  ports: 'ports',
  models: 'inference',
  users: 'users',
  grants: null,
  settings: null,
}

/** Whether the computer is reachable, and if not, why. */
export type Standing = { ready: true } | { ready: false; why: string }

/** Why a tab isn't available: missing permission, or the computer is offline. */
export function standingOf(computer: Computer, part: Part): Standing {
  const capability = needs[part]
  // Models of offline computers are shown as last reported.
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
        ? `You don’t have the “${what}” permission on ${name}. Ask its owner.`
        : kind === 'cloud'
          ? `“${what}” isn’t available on cloud computers. ${name} is a sandbox with one account.`
          : `“${what}” isn’t allowed on the machine. To allow it, run there: uk computer run --allow ${[...allows, capability].join(',')}`,
    }
  return reachOf(computer)
}

export function reachOf({ connection, lifecycle, kind, name, lifecycle_reason }: Computer): Standing {
  if (connection === 'online') return { ready: true }
  if (kind === 'cloud')
    switch (lifecycle) {
      case 'stopped':
        return { ready: false, why: `${name} is stopped. Its files are kept; start it to use it.` }
      case 'error':
        return { ready: false, why: `${name} failed: ${lifecycle_reason ?? 'unknown reason'}. Start it again.` }
      case 'provisioning':
      case 'starting':
        return { ready: false, why: `${name} is starting. This page updates when it is ready.` }
      case 'stopping':
        return { ready: false, why: `${name} is stopping.` }
      case 'running':
      case 'deleted':
        break
    }
  return connection === 'never_connected'
    ? { ready: false, why: `${name} has never connected. Check it on the machine: uk computer status` }
    : {
        ready: false,
        why: `${name} is offline. It reconnects automatically when its daemon is running. Check it on the machine: uk computer status`,
      }
}

export function stateOf({ connection, lifecycle, kind }: Computer): { tone: Tone; words: string } {
  if (kind === 'cloud' && lifecycle === 'error') return { tone: 'bad', words: 'failed' }
  if (kind === 'cloud' && lifecycle !== 'running') return { tone: 'plain', words: lifecycle }
  if (connection === 'online') return { tone: 'good', words: 'online' }
  return { tone: 'plain', words: connection === 'offline' ? 'offline' : 'never connected' }
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
export function size(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1024 ** unit
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

const systems: Record<string, string> = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' }
export const systemOf = ({ os, arch }: Computer): string | null =>
  os === null ? null : [systems[os] ?? os, arch].filter(Boolean).join(' ')
