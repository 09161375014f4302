import { execFile } from 'node:child_process'
import { readFile, readdir, readlink } from 'node:fs/promises'
import { type Socket, connect } from 'node:net'
import { promisify } from 'node:util'
import type { z } from 'zod'
import { refuse } from '#core/errors.ts'
import type { Input, ListeningPort as PortSchema, Output } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { partOf } from './part.ts'

type ListeningPort = z.infer<typeof PortSchema>
interface Owner {
  process: string | null
  pid: number | null
}
const nobody: Owner = { process: null, pid: null }

/** Sorted by port. A port open on both IPv4 and IPv6 is listed once, as `tcp`. */
export async function listPorts({ from }: Input<'ports.list'>): Promise<Output<'ports.list'>> {
  const listeners = process.platform === 'linux' ? await onLinux() : await byLsof()
  const ports = new Map<number, ListeningPort>()
  for (const each of listeners) {
    const existing = ports.get(each.port)
    if (!existing || (existing.protocol === 'tcp6' && each.protocol === 'tcp')) ports.set(each.port, each)
  }
  const sorted = [...ports.values()].toSorted((a, b) => a.port - b.port)
  const { rows, next } = partOf(sorted, from)
  return { ports: rows, next }
}

/**
 * `/proc/net/tcp`: local address in hex, state `0A` is LISTEN, the tenth field is the socket's inode. See
 * proc_net(5).
 */
async function onLinux(): Promise<ListeningPort[]> {
  const tables = await Promise.all(
    (['tcp', 'tcp6'] as const).map(async (protocol) =>
      (await readFile(`/proc/net/${protocol}`, 'utf8').catch(() => ''))
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/))
        .filter((fields) => fields[3] === '0A')
        .map((fields) => ({ port: parseInt(fields[1]!.split(':')[1]!, 16), inode: fields[9]!, protocol })),
    ),
  )
  const sockets = tables.flat()
  const owners = await ownersOf(new Set(sockets.map(({ inode }) => inode)))
  return sockets.map(({ port, inode, protocol }) => ({ port, protocol, ...(owners.get(inode) ?? nobody) }))
}

/** Finds which process owns which socket, as far as the daemon's user may see. Stops once all are found. */
async function ownersOf(inodes: ReadonlySet<string>): Promise<Map<string, Owner>> {
  const owners = new Map<string, Owner>()
  for (const pid of await readdir('/proc')) {
    if (owners.size === inodes.size) break
    if (!/^\d+$/.test(pid)) continue
    const sockets = await socketsOf(pid)
    const mine = sockets.filter((inode) => inodes.has(inode) && !owners.has(inode))
    if (mine.length === 0) continue
    const name = (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim()
    for (const inode of mine) owners.set(inode, { process: name || null, pid: Number(pid) })
  }
  return owners
}

async function socketsOf(pid: string): Promise<string[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [])
}

/** lsof(8) output: `p` starts a process, `c` its name, `t` the address family, `n` the address. Not tested on macOS. */
async function byLsof(): Promise<ListeningPort[]> {
  const { stdout } = await promisify(execFile)('lsof', ['-nP', '-iTCP', '-sTCP:LISTEN', '-Fpctn']).catch((error) =>
    // lsof exits with 1 if nothing listens.
    error.code === 1
      ? { stdout: '' }
      : refuse('not_ready', { message: '`lsof` is required to list this computer’s ports. Install it there.' }),
  )
  const ports: ListeningPort[] = []
  let owner = nobody
  let protocol: ListeningPort['protocol'] = 'tcp'
  for (const line of stdout.split('\n')) {
    const value = line.slice(1)
    if (line.startsWith('p')) owner = { pid: Number(value), process: null }
    if (line.startsWith('c')) owner = { ...owner, process: value }
    if (line.startsWith('t')) protocol = value === 'IPv6' ? 'tcp6' : 'tcp'
    const port = line.startsWith('n') ? Number(value.slice(value.lastIndexOf(':') + 1)) : NaN
    if (port >= 1 && port <= 65_535) ports.push({ port, protocol, ...owner })
  }
  return ports
}

const CONNECT_MS = 5_000

/**
 * Relays raw bytes to a loopback port, never to another address. Either side may half-close. First event: `{type:
 * 'connected'}`.
 */
export async function dial(
  { port }: Input<'ports.dial'>,
  stream: Stream,
  { signal }: { signal: AbortSignal },
): Promise<Output<'ports.dial'>> {
  const socket = (await open('127.0.0.1', port, signal)) ?? (await open('::1', port, signal))
  if (socket === null)
    return refuse('upstream_error', { param: 'port', message: `No program responds on port ${port} of the computer.` })
  const stop = (): void => void socket.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    stream.event({ type: 'connected' })
    await Promise.all([toSocket(stream, socket), fromSocket(socket, stream)])
    return {}
  } finally {
    signal.removeEventListener('abort', stop)
    socket.destroy()
  }
}

function open(host: string, port: number, signal: AbortSignal): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true })
    const late = setTimeout(() => fail(), CONNECT_MS)
    const fail = (): void => {
      clearTimeout(late)
      socket.destroy()
      resolve(null)
    }
    socket.once('error', fail)
    socket.once('connect', () => {
      clearTimeout(late)
      // Keeps a later write error from being unhandled; the reader reports broken connections.
      socket.off('error', fail).on('error', () => {})
      resolve(socket)
    })
  })
}

async function toSocket(stream: Stream, socket: Socket): Promise<void> {
  for await (const each of stream) {
    if (each.type === 'finished') break
    if (each.type !== 'bytes' || socket.destroyed) continue
    if (!socket.write(each.bytes)) await drained(socket)
  }
  socket.end()
}

const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      socket.off('drain', go)
      socket.off('close', go)
      resolve()
    }
    socket.once('drain', go)
    socket.once('close', go)
  })

async function fromSocket(socket: Socket, stream: Stream): Promise<void> {
  try {
    for await (const bytes of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
      await stream.write(bytes)
  } catch (error) {
    // The program behind the port reset the connection. The client sees an end, as it would locally.
    if (!(error instanceof Error && 'code' in error)) throw error
  }
  stream.finish()
}
