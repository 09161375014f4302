/**
 * The Docker Engine API, as far as computers need it, over the engine's unix socket: of Docker, or of Podman, which serves
 * the same. https://docs.docker.com/reference/api/engine/version/v1.41/
 */
import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import { DriverFault } from '../driver.ts'
import type { Spec } from './spec.ts'
import { shorten } from '#core/text/shorten.ts'

/** The version of the API: Docker has it since 20.10, Podman since 3.0. */
const VERSION = 'v1.41'
const ANSWERS_MS = 60_000
/** The time that a pull may take: a registry may be slow. */
const PULLS_MS = 1_800_000
const MOST_BYTES = 4_194_304

export interface EngineInfo {
  OSType: string
  SecurityOptions: string[] | null
  MemoryLimit: boolean
  PidsLimit: boolean
  CpuCfsQuota: boolean
  ServerVersion: string
}

export interface Inspected {
  Id: string
  State: { Running: boolean; Paused: boolean; ExitCode: number }
}

export interface ContainerEngine {
  info(): Promise<EngineInfo>
  /** The file with Podman's profile of system calls; null: the engine is Docker, whose profile is its own. */
  podman(): Promise<{ seccompProfile: string } | null>
  hasImage(image: string): Promise<boolean>
  pull(image: string): Promise<void>
  /** Makes an image of a `tar` of its root. */
  importImage(image: string, tar: Readable): Promise<void>
  /** Makes a container. Answers its id. */
  create(name: string, spec: Spec): Promise<string>
  /** The state of a container; null: it does not exist. */
  inspect(name: string): Promise<Inspected | null>
  start(name: string): Promise<void>
  pause(name: string): Promise<void>
  unpause(name: string): Promise<void>
  /** Ends a container at once. Resolves once neither it nor what it wrote into volumes of its own is there. */
  remove(name: string): Promise<void>
  /** Waits for a container to end. Answers its exit code. */
  wait(name: string): Promise<number>
  /** The containers with all of these labels, whatever they do. */
  list(labels: readonly string[]): Promise<{ Id: string; Labels: Record<string, string> }[]>
  /** The last output of a container. */
  logs(name: string): Promise<string>
  /** The input and outputs of a container, as the engine multiplexes them. To be opened before it starts. */
  attach(name: string): Promise<Duplex>
}

interface Answer {
  status: number
  body: Buffer
}

export function containerEngine(socketPath: string): ContainerEngine {
  const open = (method: string, path: string, options: RequestOptions) =>
    request({ socketPath, method, path, agent: false, ...options })

  async function ask(method: string, path: string, more: Asked = {}): Promise<Answer> {
    const { json, stream, allow = [], timeoutMs = ANSWERS_MS, version = VERSION } = more
    const body = json === undefined ? null : Buffer.from(JSON.stringify(json))
    const type = stream ? 'application/x-tar' : 'application/json'
    const headers = {
      host: 'engine',
      ...(body && { 'content-length': body.length }),
      ...((body ?? stream) && { 'content-type': type }),
    }
    const { status, body: answer } = await new Promise<Answer>((resolve, reject) => {
      const signal = timeoutMs === null ? {} : { signal: AbortSignal.timeout(timeoutMs) }
      const asked = open(method, `/${version}${path}`, { headers, ...signal })
      asked.once('error', reject).once('response', (response) => void readAll(response).then(resolve, reject))
      if (!stream) return void asked.end(body)
      stream.once('error', (error) => asked.destroy(error)).pipe(asked)
    }).catch((error: unknown) => {
      throw new DriverFault(`The container engine at ${socketPath} doesn’t respond: ${(error as Error).message}`)
    })
    if (status < 400 || allow.includes(status)) return { status, body: answer }
    throw new DriverFault(`The container engine rejected the request (${status}): ${messageIn(answer)}`)
  }
  const named = (name: string, rest: string): string => `/containers/${encodeURIComponent(name)}${rest}`
  const json = ({ body }: Answer): unknown => JSON.parse(body.toString('utf8'))

  return {
    info: async () => json(await ask('GET', '/info')) as EngineInfo,
    async podman() {
      const { Components = [] } = json(await ask('GET', '/version')) as { Components?: { Name: string }[] }
      if (!Components.some(({ Name }) => Name.startsWith('Podman'))) return null
      const { host } = json(await ask('GET', '/libpod/info', { version: 'v4.0.0' })) as PodmanInfo
      return { seccompProfile: host.security.seccompProfilePath }
    },
    hasImage: async (image) => (await ask('GET', `/images/${image}/json`, { allow: [404] })).status === 200,
    async pull(image) {
      const tag = /[:@][^/]*$/.test(image) ? image : `${image}:latest`
      const said = await ask('POST', `/images/create?${query({ fromImage: tag })}`, { timeoutMs: PULLS_MS })
      failIn(said.body)
    },
    async importImage(image, tar) {
      // The address has its tag in it: Podman reads no other.
      failIn((await ask('POST', `/images/create?${query({ fromSrc: '-', repo: image })}`, { stream: tar })).body)
    },
    async create(name, spec) {
      const { Id } = json(await ask('POST', `/containers/create?${query({ name })}`, { json: spec })) as { Id: string }
      return Id
    },
    async inspect(name) {
      const answer = await ask('GET', named(name, '/json'), { allow: [404] })
      return answer.status === 404 ? null : (json(answer) as Inspected)
    },
    async start(name) {
      await ask('POST', named(name, '/start'))
    },
    async pause(name) {
      await ask('POST', named(name, '/pause'))
    },
    async unpause(name) {
      // 409, of Podman 500: it is not paused.
      await ask('POST', named(name, '/unpause'), { allow: [404, 409, 500] })
    },
    async remove(name) {
      // 409: somebody is removing it already.
      const { status } = await ask('DELETE', named(name, '?force=true&v=true'), { allow: [404, 409] })
      if (status !== 409) return
      await ask('POST', named(name, '/wait?condition=removed'), { allow: [404] })
    },
    async wait(name) {
      const { StatusCode } = json(await ask('POST', named(name, '/wait'), { timeoutMs: null })) as {
        StatusCode: number
      }
      return StatusCode
    },
    async list(labels) {
      const filters = JSON.stringify({ label: labels })
      return json(await ask('GET', `/containers/json?${query({ all: 'true', filters })}`)) as never
    },
    async logs(name) {
      const path = named(name, '/logs?stdout=true&stderr=true&tail=3')
      const { status, body } = await ask('GET', path, { allow: [404, 409, 500, 501] })
      return status === 200 ? plain(body).trim().split('\n').join(' ').slice(-500) : ''
    },
    attach: (name) =>
      new Promise((resolve, reject) => {
        const path = named(name, '/attach?stream=true&stdin=true&stdout=true&stderr=true')
        const asked = open('POST', `/${VERSION}${path}`, {
          headers: { host: 'engine', connection: 'Upgrade', upgrade: 'tcp' },
        })
        const refused = (why: string) => reject(new DriverFault(`The container engine refused to attach: ${why}`))
        asked.once('error', (error) => refused(error.message))
        asked.once('response', (response) => {
          readAll(response).then(
            ({ body }) => refused(messageIn(body)),
            (error: Error) => refused(error.message),
          )
        })
        asked.once('upgrade', (_, socket, head) => {
          if (head.length > 0) socket.unshift(head)
          resolve(socket)
        })
        asked.end()
      }),
  }
}

interface Asked {
  json?: unknown
  stream?: Readable
  /** Statuses of refusal that the caller has an answer for. */
  allow?: readonly number[]
  /** Milliseconds; null: the call may take as long as it takes. */
  timeoutMs?: number | null
  version?: string
}

interface PodmanInfo {
  host: { security: { seccompProfilePath: string } }
}

const query = (words: Record<string, string>): string => new URLSearchParams(words).toString()

async function readAll(response: IncomingMessage): Promise<Answer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    // Progress of a pull may be long, and only its end is of use.
    if (bytes > MOST_BYTES) parts.length = 0
    parts.push(part)
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(parts) }
}

function messageIn(body: Buffer): string {
  const text = body.toString('utf8')
  try {
    return shorten(String((JSON.parse(text) as { message: unknown }).message), 500)
  } catch {
    return text.trim().slice(-300)
  }
}

/** Throws where a pull or an import says in the lines of a 200 that it failed. */
function failIn(body: Buffer): void {
  for (const line of body.toString('utf8').split('\n')) {
    if (!line.includes('"error"')) continue
    const { error } = JSON.parse(line) as { error?: string }
    if (error) throw new DriverFault(`The container engine has no such image: ${shorten(error, 500)}`)
  }
}

/** The text in the engine's frames, of either output. */
function plain(body: Buffer): string {
  const parts: Buffer[] = []
  for (let at = 0; at + 8 <= body.length;) {
    const bytes = body.readUInt32BE(at + 4)
    parts.push(body.subarray(at + 8, at + 8 + bytes))
    at += 8 + bytes
  }
  return Buffer.concat(parts).toString('utf8')
}
