import { resolve } from 'node:path'
import { isAddressRange } from '#core/http/address-range.ts'
import { edits } from '#core/text/near-word.ts'
import { settings } from './settings.ts'

export interface Config {
  readonly host: string
  readonly peerHost: string
  readonly port: number
  readonly dataDir: string
  readonly databaseUrl: string | null
  /** Carries wake-ups and broadcasts between processes. Null: PostgreSQL. */
  readonly busUrl: string | null
  readonly workers: number
  readonly secretKeys: readonly string[]
  readonly publicUrl: string | null
  readonly allowedHosts: readonly string[]
  readonly trustedProxies: readonly string[]
  readonly previewDomain: string
  readonly signUp: 'open' | 'invite'
  readonly signUpCreditsUsd: string
  /** Null: only the instance's own accounts. */
  readonly oidc: OidcConfig | null
  readonly catalogueUrl: string
  readonly localEngines: readonly { preset: string; origin: string }[] | null
  readonly sim: boolean
  readonly upstreamAllow: readonly string[]
  readonly fetchAllow: readonly string[]
  readonly mediaAnswerBytes: number
  readonly inlineMs: number
  readonly limits: Readonly<
    Record<'reads' | 'writes' | 'searches' | 'inference' | 'logins' | 'sign_ups' | 'in_flight', number>
  >
  /** `file:` or `s3://bucket/prefix`. */
  readonly blobs: string
  readonly s3Endpoint: string | null
  /** Bytes; 0 is unlimited. */
  readonly storage: Readonly<Record<'workspace' | 'file', number>>
  readonly requestRetentionDays: number
  readonly fastHttp: boolean
  /** Null: all supported on this machine. */
  readonly computerDrivers: readonly ComputerDriver[]
  readonly docker: { readonly socket: string | null; readonly images: readonly string[] }
  readonly computersPerWorkspace: number
  readonly drainSeconds: number
  readonly stopSeconds: number
  readonly logLevel: string
  readonly logFormat: 'auto' | 'text' | 'json'
  readonly embeddingModel: string
  readonly defaultModel: string
  readonly smtpUrl: string | null
  readonly mailFrom: string
  /** The raw environment, for the instance's provider keys (`OPENAI_API_KEY`, `…_BASE_URL`, `OLLAMA_HOST`). */
  readonly environment: Readonly<Record<string, string | undefined>>
}

export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly name: string
  /** Who may join through it. Domains require verified addresses. */
  readonly join: 'anyone' | 'invited' | 'nobody' | { readonly domains: readonly string[] }
}

/** Each line names a wrong variable and how to fix it. */
export class ConfigRefused extends Error {}

const loopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.')

type Environment = Readonly<Record<string, string | undefined>>

/** Readers of variables by form. They throw `ConfigRefused` for wrong values. */
function readersOf(environment: Environment) {
  const text = (name: string): string =>
    environment[name]?.trim() || settings.find((setting) => setting.name === name)!.fallback
  const list = (name: string): string[] =>
    text(name)
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean)
  const whole = (name: string, least: number, most: number): number => {
    const value = Number(text(name))
    if (!Number.isInteger(value) || value < least || value > most)
      throw new ConfigRefused(`${name} must be a whole number from ${least} to ${most}, not "${text(name)}"`)
    return value
  }
  const choice = (name: string, choices: readonly string[], fallback: string): string => {
    const value = text(name) || fallback
    if (!choices.includes(value)) throw new ConfigRefused(`${name} must be ${choices.join(' or ')}, not "${value}"`)
    return value
  }
  const url = (name: string, protocols: readonly string[]): string | null => {
    const value = text(name)
    if (!value) return null
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new ConfigRefused(`${name} must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`)
    return value
  }
  return { text, list, whole, choice, url }
}

function checkForms({ text, list }: Pick<ReturnType<typeof readersOf>, 'text' | 'list'>): void {
  if (list('UK_SECRET_KEY').some((key) => key.length < 32))
    throw new ConfigRefused('UK_SECRET_KEY must have at least 32 characters per key')
  if (!/^\d+(\.\d{1,9})?$/.test(text('UK_SIGN_UP_CREDITS_USD')))
    throw new ConfigRefused(
      `UK_SIGN_UP_CREDITS_USD must be an amount such as 5 or 0.50, not "${text('UK_SIGN_UP_CREDITS_USD')}"`,
    )
  const proxy = list('UK_TRUSTED_PROXIES').find((range) => !isAddressRange(range))
  if (proxy !== undefined)
    throw new ConfigRefused(`UK_TRUSTED_PROXIES must be addresses or CIDRs such as 10.0.0.0/8, not "${proxy}"`)
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/i.test(text('UK_PREVIEW_DOMAIN')))
    throw new ConfigRefused(
      `UK_PREVIEW_DOMAIN must be a name such as previews.example.com, not "${text('UK_PREVIEW_DOMAIN')}"`,
    )
}

export function readConfig(environment: Environment): { config: Config; warnings: string[] } {
  const readers = readersOf(environment)
  const { text, list, whole, choice, url } = readers
  checkForms(readers)
  const host = text('UK_HOST')
  const signUp = choice('UK_SIGN_UP', ['open', 'invite'], loopback(host) ? 'open' : 'invite') as Config['signUp']
  const config: Config = Object.freeze({
    host,
    peerHost: text('UK_PEER_HOST'),
    port: whole('UK_PORT', 0, 65_535),
    dataDir: resolve(text('UK_DATA_DIR')),
    databaseUrl: url('DATABASE_URL', ['postgres:', 'postgresql:']),
    busUrl: url('UK_BUS', ['nats:', 'tls:', 'redis:', 'rediss:']),
    workers: whole('UK_WORKERS', 1, 256),
    secretKeys: list('UK_SECRET_KEY'),
    publicUrl: url('UK_PUBLIC_URL', ['http:', 'https:'])?.replace(/\/+$/, '') ?? null,
    allowedHosts: list('UK_ALLOWED_HOSTS'),
    trustedProxies: list('UK_TRUSTED_PROXIES'),
    previewDomain: text('UK_PREVIEW_DOMAIN').toLowerCase(),
    signUp,
    oidc: oidcIn({ issuer: url('UK_OIDC_ISSUER', ['https:', 'http:']), text, list, signUp }),
    signUpCreditsUsd: text('UK_SIGN_UP_CREDITS_USD'),
    localEngines: localEngines(text('UK_LOCAL_ENGINES')),
    catalogueUrl: url('UK_CATALOGUE_URL', ['http:', 'https:'])!,
    sim: choice('UK_SIM', ['on', 'off'], loopback(host) ? 'on' : 'off') === 'on',
    upstreamAllow: list('UK_UPSTREAM_ALLOW'),
    fetchAllow: list('UK_FETCH_ALLOW'),
    mediaAnswerBytes: whole('UK_MEDIA_ANSWER_MB', 1, 1e6) * 2 ** 20,
    inlineMs: whole('UK_INLINE_SECONDS', 1, 3_600) * 1_000,
    limits: Object.freeze({
      reads: whole('UK_LIMIT_READS', 0, 1e9),
      writes: whole('UK_LIMIT_WRITES', 0, 1e9),
      searches: whole('UK_LIMIT_SEARCHES', 0, 1e9),
      inference: whole('UK_LIMIT_INFERENCE', 0, 1e9),
      logins: whole('UK_LIMIT_LOGINS', 0, 1e9),
      sign_ups: whole(text('UK_LIMIT_SIGN_UPS') === '' ? 'UK_LIMIT_LOGINS' : 'UK_LIMIT_SIGN_UPS', 0, 1e9),
      in_flight: whole('UK_LIMIT_IN_FLIGHT', 0, 1e9),
    }),
    blobs: blobsIn(text('UK_BLOBS')),
    s3Endpoint: url('UK_S3_ENDPOINT', ['http:', 'https:']),
    storage: Object.freeze({
      workspace: whole('UK_LIMIT_STORAGE_BYTES', 0, Number.MAX_SAFE_INTEGER),
      file: whole('UK_LIMIT_FILE_BYTES', 0, Number.MAX_SAFE_INTEGER),
    }),
    requestRetentionDays: whole('UK_REQUEST_RETENTION_DAYS', 0, 3650),
    fastHttp: choice('UK_FAST_HTTP', ['on', 'off'], 'on') === 'on',
    computerDrivers: driversIn(list('UK_COMPUTER_DRIVERS'), text('UK_DOCKER_SOCKET') !== ''),
    docker: Object.freeze({
      socket: socketIn(text('UK_DOCKER_SOCKET')),
      images: imagesIn(list('UK_DOCKER_IMAGES')),
    }),
    computersPerWorkspace: whole('UK_COMPUTERS_PER_WORKSPACE', 0, 100_000),
    drainSeconds: whole('UK_DRAIN_SECONDS', 0, 3600),
    stopSeconds: whole('UK_STOP_SECONDS', 1, 3600),
    logLevel: choice('UK_LOG', ['debug', 'info', 'warn', 'error'], 'info'),
    logFormat: choice('UK_LOG_FORMAT', ['auto', 'text', 'json'], 'auto') as Config['logFormat'],
    embeddingModel: text('UK_EMBEDDING_MODEL'),
    defaultModel: text('UK_DEFAULT_MODEL'),
    smtpUrl: url('SMTP_URL', ['smtp:', 'smtps:']),
    mailFrom: text('UK_MAIL_FROM'),
    environment: Object.freeze({ ...environment }),
  })
  return { config, warnings: unknownSettings(environment) }
}

function oidcIn({
  issuer,
  text,
  list,
  signUp,
}: {
  issuer: string | null
  text(name: string): string
  list(name: string): string[]
  signUp: Config['signUp']
}): OidcConfig | null {
  const [clientId, clientSecret] = [text('UK_OIDC_CLIENT_ID'), text('UK_OIDC_CLIENT_SECRET')]
  if (issuer === null) {
    if (clientId !== '' || clientSecret !== '')
      throw new ConfigRefused('UK_OIDC_ISSUER is required with UK_OIDC_CLIENT_ID')
    return null
  }
  const { protocol, hostname } = new URL(issuer)
  if (protocol === 'http:' && !loopback(hostname))
    throw new ConfigRefused('UK_OIDC_ISSUER must start with https://; http:// is allowed only for this machine')
  if (clientId === '' || clientSecret === '')
    throw new ConfigRefused('UK_OIDC_ISSUER needs UK_OIDC_CLIENT_ID and UK_OIDC_CLIENT_SECRET')
  return {
    issuer,
    clientId,
    clientSecret,
    name: text('UK_OIDC_NAME') || hostname,
    join: joinIn(list('UK_OIDC_JOIN'), signUp),
  }
}

function joinIn(words: readonly string[], signUp: Config['signUp']): OidcConfig['join'] {
  const [word] = words
  if (word === undefined) return signUp === 'open' ? 'anyone' : 'invited'
  if (words.length === 1 && (word === 'anyone' || word === 'invited' || word === 'nobody')) return word
  const wrong = words.find((each) => !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/i.test(each))
  if (wrong !== undefined)
    throw new ConfigRefused(
      `UK_OIDC_JOIN must be anyone, invited, nobody, or domains such as example.com, not "${wrong}"`,
    )
  return { domains: words.map((each) => each.toLowerCase()) }
}

const COMPUTER_DRIVERS = ['bubblewrap', 'docker'] as const
type ComputerDriver = (typeof COMPUTER_DRIVERS)[number]

/** The container engine is shared with other programs, so it is only used if enabled. */
function driversIn(words: readonly string[], engine: boolean): Config['computerDrivers'] {
  if (words.length === 0) return engine ? COMPUTER_DRIVERS : ['bubblewrap']
  const wrong = words.find((word) => word !== 'off' && !COMPUTER_DRIVERS.some((name) => name === word))
  if (wrong !== undefined)
    throw new ConfigRefused(`UK_COMPUTER_DRIVERS must be off, or ${COMPUTER_DRIVERS.join(' or ')}, not "${wrong}"`)
  return [...new Set(words)].filter((word): word is ComputerDriver => word !== 'off')
}

function socketIn(words: string): string | null {
  if (words === '') return null
  const path = words.replace(/^unix:\/\//, '')
  if (!path.startsWith('/') || path.length > 107)
    throw new ConfigRefused(`UK_DOCKER_SOCKET must be the path of a unix socket, not "${words}"`)
  return path
}

function imagesIn(words: readonly string[]): readonly string[] {
  const wrong = words.find((word) => !/^[a-z0-9][a-zA-Z0-9._:/@-]{0,254}$/.test(word))
  if (wrong !== undefined)
    throw new ConfigRefused(
      `UK_DOCKER_IMAGES must be names such as docker.io/library/debian:stable-slim, not "${wrong}"`,
    )
  return words
}

function blobsIn(words: string): string {
  if (words === 'file:' || /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/.*)?$/.test(words)) return words
  throw new ConfigRefused(`UK_BLOBS must be \`file:\` or s3://bucket/prefix, not "${words}"`)
}

const engines = 'vllm lm-studio llama-cpp local-ai whisper-cpp speaches kokoro-fastapi stable-diffusion-cpp'.split(' ')

/** `vllm=127.0.0.1:8001,lm-studio=127.0.0.1:1235`. Null: unset. */
function localEngines(words: string): Config['localEngines'] {
  if (words === '') return null
  if (words === 'off') return []
  return words.split(',').map((part) => {
    const [, preset, host] = /^\s*([a-z-]+)=([^\s/]+)\s*$/.exec(part) ?? []
    if (preset === undefined || !engines.includes(preset) || !URL.canParse(`http://${host}`))
      throw new ConfigRefused(
        `UK_LOCAL_ENGINES must be off, or such as vllm=127.0.0.1:8001 (${engines.join(', ')}), not "${part.trim()}"`,
      )
    return { preset, origin: `http://${host}` }
  })
}

/** Variables of tests and the CLI, which may start a server with their environment. */
const elsewhere = ['UK_TEST_ALL', 'UK_KEY', 'UK_ORIGIN']

function unknownSettings(environment: Readonly<Record<string, string | undefined>>): string[] {
  const names = settings.map((setting) => setting.name)
  return Object.keys(environment)
    .filter((name) => name.startsWith('UK_') && !names.includes(name) && !elsewhere.includes(name))
    .map((name) => `${name} is not a setting; did you mean ${nearest(name, names)}? \`uk config\` lists them all`)
}

export function nearest(word: string, candidates: readonly string[]): string {
  return candidates.reduce((best, name) => (edits(word, name) < edits(word, best) ? name : best))
}

export const describeSettings = (environment: Readonly<Record<string, string | undefined>>) =>
  settings.map(({ name, fallback, meaning, secret }) => {
    const value = environment[name]
    return { name, value: value === undefined ? fallback : secret ? '(set)' : value, set: value !== undefined, meaning }
  })
