/**
 * The part of the Docker Engine API that computers need, over the Unix socket of Docker or Podman.
 * https://docs.docker.com/reference/api/engine/version/v1.41/
 */
import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import { DriverFault } from '../driver.ts'
import type { Spec } from './spec.ts'
import { shorten } from '#core/text/shorten.ts'

/** Docker has this API version since 20.10, Podman since 3.0. */
const VERSION = 'v1.41'
const ANSWERS_MS = 60_000
const PULLS_MS = 1_800_000
const MAX_BYTES = 4_194_304

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
  /** The path of Podman's seccomp profile. Null for Docker, which applies its own. */
  podman(): Promise<{ seccompProfile: string } | null>
  hasImage(image: string): Promise<boolean>
  pull(image: string): Promise<void>
  /** Creates an image from a `tar` of its root. */
  importImage(image: string, tar: Readable): Promise<void>
  /** Returns the container's ID. */
  create(name: string, spec: Spec): Promise<string>
  /** Null if the container doesn't exist. */
  inspect(name: string): Promise<Inspected | null>
  start(name: string): Promise<void>
  pause(name: string): Promise<void>
  unpause(name: string): Promise<void>
  /** Kills a container. Resolves when it and its anonymous volumes are removed. */
  remove(name: string): Promise<void>
  /** Waits for a container to end and returns its exit code. */
  wait(name: string): Promise<number>
  /** The containers with all of these labels, running or not. */
  list(labels: readonly string[]): Promise<{ Id: string; Labels: Record<string, string> }[]>
  /** The last output of a container. */
  logs(name: string): Promise<string>
  /** The multiplexed input and outputs of a container. Attach before it starts. */
  attach(name: string): Promise<Duplex>
}

interface EngineResponse {
  status: number
  body: Buffer
}

export const containerEngine = (socketPath: string): ContainerEngine => new EngineApi(socketPath)

class EngineApi implements ContainerEngine {
  readonly #socketPath: string

  constructor(socketPath: string) {
    this.#socketPath = socketPath
  }

  async info(): Promise<EngineInfo> {
    return parsed(await this.#ask('GET', '/info')) as EngineInfo
  }

  async podman(): Promise<{ seccompProfile: string } | null> {
    const { Components = [] } = parsed(await this.#ask('GET', '/version')) as { Components?: { Name: string }[] }
    if (!Components.some(({ Name }) => Name.startsWith('Podman'))) return null
    const { host } = parsed(await this.#ask('GET', '/libpod/info', { version: 'v4.0.0' })) as PodmanInfo
    return { seccompProfile: host.security.seccompProfilePath }
  }

  async hasImage(image: string): Promise<boolean> {
    return (await this.#ask('GET', `/images/${image}/json`, { allow: [404] })).status === 200
  }

  async pull(image: string): Promise<void> {
    const tag = /[:@][^/]*$/.test(image) ? image : `${image}:latest`
    const { body } = await this.#ask('POST', `/images/create?${query({ fromImage: tag })}`, { timeoutMs: PULLS_MS })
    failIn(body)
  }

  async importImage(image: string, tar: Readable): Promise<void> {
    // The tag is part of `repo`, because Podman ignores `tag`.
    const { body } = await this.#ask('POST', `/images/create?${query({ fromSrc: '-', repo: image })}`, { stream: tar })
    failIn(body)
  }

  async create(name: string, spec: Spec): Promise<string> {
    const response = await this.#ask('POST', `/containers/create?${query({ name })}`, { json: spec })
    return (parsed(response) as { Id: string }).Id
  }

  async inspect(name: string): Promise<Inspected | null> {
    const response = await this.#ask('GET', pathOf(name, '/json'), { allow: [404] })
    return response.status === 404 ? null : (parsed(response) as Inspected)
  }

  async start(name: string): Promise<void> {
    await this.#ask('POST', pathOf(name, '/start'))
  }

  async pause(name: string): Promise<void> {
    await this.#ask('POST', pathOf(name, '/pause'))
  }

  async unpause(name: string): Promise<void> {
    // 409, or 500 from Podman, if it isn't paused.
    await this.#ask('POST', pathOf(name, '/unpause'), { allow: [404, 409, 500] })
  }

  async remove(name: string): Promise<void> {
    // 409 if it is already being removed.
    const { status } = await this.#ask('DELETE', pathOf(name, '?force=true&v=true'), { allow: [404, 409] })
    if (status !== 409) return
    await this.#ask('POST', pathOf(name, '/wait?condition=removed'), { allow: [404] })
  }

  async wait(name: string): Promise<number> {
    const response = await this.#ask('POST', pathOf(name, '/wait'), { timeoutMs: null })
    return (parsed(response) as { StatusCode: number }).StatusCode
  }

  async list(labels: readonly string[]): Promise<{ Id: string; Labels: Record<string, string> }[]> {
    const filters = JSON.stringify({ label: labels })
    const response = await this.#ask('GET', `/containers/json?${query({ all: 'true', filters })}`)
    return parsed(response) as { Id: string; Labels: Record<string, string> }[]
  }

  async logs(name: string): Promise<string> {
    const path = pathOf(name, '/logs?stdout=true&stderr=true&tail=3')
    const { status, body } = await this.#ask('GET', path, { allow: [404, 409, 500, 501] })
    return status === 200 ? plain(body).trim().split('\n').join(' ').slice(-500) : ''
  }

  attach(name: string): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const path = pathOf(name, '/attach?stream=true&stdin=true&stdout=true&stderr=true')
      const upgrade = this.#open('POST', `/${VERSION}${path}`, {
        headers: { host: 'engine', connection: 'Upgrade', upgrade: 'tcp' },
      })
      const fail = (why: string) => reject(new DriverFault(`The container engine refused to attach: ${why}`))
      upgrade.once('error', (error) => fail(error.message))
      upgrade.once('response', (response) => {
        readAll(response).then(
          ({ body }) => fail(messageIn(body)),
          (error: Error) => fail(error.message),
        )
      })
      upgrade.once('upgrade', (_, socket, head) => {
        if (head.length > 0) socket.unshift(head)
        resolve(socket)
      })
      upgrade.end()
    })
  }

  #open(method: string, path: string, options: RequestOptions) {
    return request({ socketPath: this.#socketPath, method, path, agent: false, ...options })
  }

  async #ask(method: string, path: string, options: RequestParts = {}): Promise<EngineResponse> {
    const { json, stream, allow = [], timeoutMs = ANSWERS_MS, version = VERSION } = options
    const body = json === undefined ? null : Buffer.from(JSON.stringify(json))
    const type = stream ? 'application/x-tar' : 'application/json'
    const headers = {
      host: 'engine',
      ...(body && { 'content-length': body.length }),
      ...((body ?? stream) && { 'content-type': type }),
    }
    const response = await new Promise<EngineResponse>((resolve, reject) => {
      const signal = timeoutMs === null ? {} : { signal: AbortSignal.timeout(timeoutMs) }
      const out = this.#open(method, `/${version}${path}`, { headers, ...signal })
      out.once('error', reject).once('response', (incoming) => void readAll(incoming).then(resolve, reject))
      if (!stream) return void out.end(body)
      stream.once('error', (error) => out.destroy(error)).pipe(out)
    }).catch((error: unknown) => {
      throw new DriverFault(`The container engine at ${this.#socketPath} doesn’t respond: ${(error as Error).message}`)
    })
    if (response.status < 400 || allow.includes(response.status)) return response
    throw new DriverFault(`The container engine rejected the request (${response.status}): ${messageIn(response.body)}`)
  }
}

const pathOf = (name: string, rest: string): string => `/containers/${encodeURIComponent(name)}${rest}`
const parsed = ({ body }: EngineResponse): unknown => JSON.parse(body.toString('utf8'))

interface RequestParts {
  json?: unknown
  stream?: Readable
  /** Error statuses that the caller handles. */
  allow?: readonly number[]
  /** Null: no timeout. */
  timeoutMs?: number | null
  version?: string
}

interface PodmanInfo {
  host: { security: { seccompProfilePath: string } }
}

const query = (words: Record<string, string>): string => new URLSearchParams(words).toString()

async function readAll(response: IncomingMessage): Promise<EngineResponse> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    // The progress of a pull may be long, and only its end matters.
    if (bytes > MAX_BYTES) parts.length = 0
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

/** Throws if a pull or import failed, which the engine reports in the body of a 200. */
function failIn(body: Buffer): void {
  for (const line of body.toString('utf8').split('\n')) {
    if (!line.includes('"error"')) continue
    const { error } = JSON.parse(line) as { error?: string }
    if (error) throw new DriverFault(`The container engine has no such image: ${shorten(error, 500)}`)
  }
}

/** Extracts the text of both outputs from the engine's frames. */
function plain(body: Buffer): string {
  const parts: Buffer[] = []
  for (let at = 0; at + 8 <= body.length;) {
    const bytes = body.readUInt32BE(at + 4)
    parts.push(body.subarray(at + 8, at + 8 + bytes))
    at += 8 + bytes
  }
  return Buffer.concat(parts).toString('utf8')
}
