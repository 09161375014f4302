import { isIP } from 'node:net'
import { resolve } from 'node:path'

/** One setting as `uk config` explains it. All are environment variables, all optional (contract, part 14). */
export interface Setting {
  name: string
  fallback: string
  meaning: string
  secret?: true
}

/** Whose keys the instance may be started with; the AI gateway's presets say the rest. */
const providers = [
  'OPENAI',
  'ANTHROPIC',
  'GEMINI',
  'OPENROUTER',
  'MISTRAL',
  'GROQ',
  'TOGETHER',
  'FIREWORKS',
  'DEEPSEEK',
  'XAI',
  'COHERE',
  'CEREBRAS',
  'MOONSHOT',
  'AZURE_OPENAI',
  'BEDROCK',
  'VERTEX',
]

export const settings: readonly Setting[] = [
  { name: 'UK_HOST', fallback: '127.0.0.1', meaning: 'The address to listen on.' },
  { name: 'UK_PORT', fallback: '4242', meaning: 'The port to listen on; 0 takes a free one. The ready line names it.' },
  { name: 'UK_DATA_DIR', fallback: './data', meaning: 'Database, blobs and generated secrets. One instance holds it.' },
  {
    name: 'DATABASE_URL',
    fallback: '',
    meaning: 'A PostgreSQL of yours, 15 or newer, instead of the embedded one.',
    secret: true,
  },
  {
    name: 'UK_BLOBS',
    fallback: 'file:',
    meaning: 'Where file bytes live: `file:` under the data dir, or `s3://bucket/prefix` with AWS_*.',
  },
  { name: 'UK_S3_ENDPOINT', fallback: '', meaning: 'An S3-compatible endpoint other than the vendor’s.' },
  {
    name: 'UK_BUS',
    fallback: '',
    meaning: 'Fan-out between server processes: empty is PostgreSQL, or `nats://…`, `redis://…`.',
    secret: true,
  },
  { name: 'UK_WORKERS', fallback: '1', meaning: 'Server processes on this machine.' },
  {
    name: 'UK_SECRET_KEY',
    fallback: '',
    meaning:
      'Root key for encryption at rest, ≥ 32 characters; a comma list rotates, newest first. Empty: made in the data dir.',
    secret: true,
  },
  {
    name: 'UK_PUBLIC_URL',
    fallback: '',
    meaning: 'The address people use, such as https://uk.example.com. Empty: the listening origin.',
  },
  { name: 'UK_ALLOWED_HOSTS', fallback: '', meaning: 'Further host names that are served, comma-separated.' },
  {
    name: 'UK_TRUSTED_PROXIES',
    fallback: '',
    meaning: 'Addresses or CIDRs whose X-Forwarded-For counts, comma-separated.',
  },
  { name: 'UK_SIGN_UP', fallback: '', meaning: '`open` or `invite`. Empty: open on loopback, else invite.' },
  {
    name: 'UK_SIGN_UP_CREDITS_USD',
    fallback: '0',
    meaning: 'Credits that a new account starts with; where SMTP_URL is set, once its address is confirmed.',
  },
  {
    name: 'UK_SIM',
    fallback: '',
    meaning: '`on` or `off`: the simulated models. Empty: on when listening on loopback.',
  },
  {
    name: 'UK_UPSTREAM_ALLOW',
    fallback: '',
    meaning: 'Private `host:port` or `CIDR[:port]` that provider endpoints given by users may reach.',
  },
  { name: 'UK_FETCH_ALLOW', fallback: '', meaning: 'The same for web fetch, webhooks and outside MCP servers.' },
  { name: 'UK_LIMIT_READS', fallback: '6000', meaning: 'Reads per minute and caller; 0 is off. So for the next five.' },
  { name: 'UK_LIMIT_WRITES', fallback: '1200', meaning: 'Writes per minute and caller.' },
  { name: 'UK_LIMIT_SEARCHES', fallback: '600', meaning: 'Searches per minute and caller.' },
  {
    name: 'UK_LIMIT_INFERENCE',
    fallback: '6000',
    meaning: 'Inference and gateway starts per minute and caller, and what automations start by the clock per account.',
  },
  {
    name: 'UK_LIMIT_LOGINS',
    fallback: '10',
    meaning: 'Failed logins per minute, per address (of IPv6 per /64) and per account.',
  },
  {
    name: 'UK_LIMIT_SIGN_UPS',
    fallback: '',
    meaning:
      'Sign-ups per minute and address (of IPv6 per /64), whether they succeed or not. Empty: as UK_LIMIT_LOGINS.',
  },
  { name: 'UK_LIMIT_IN_FLIGHT', fallback: '1000', meaning: 'Requests of one caller at the same time.' },
  {
    name: 'UK_LIMIT_STORAGE_BYTES',
    fallback: '0',
    meaning: 'Bytes that the files of a workspace may take, their versions and the trash included; 0 is off.',
  },
  { name: 'UK_LIMIT_FILE_BYTES', fallback: '0', meaning: 'Bytes of one file; 0 is off.' },
  {
    name: 'UK_REQUEST_RETENTION_DAYS',
    fallback: '30',
    meaning: 'How long what runs asked their models is kept, sealed, so that they can be played again; 0 keeps none.',
  },
  {
    name: 'UK_FAST_HTTP',
    fallback: 'on',
    meaning:
      '`on` or `off`: ordinary calls of the gateways are read by a reader of our own, in front of Node’s HTTP server.',
  },
  { name: 'UK_DRAIN_SECONDS', fallback: '20', meaning: 'How long a stopping server lets requests finish.' },
  { name: 'UK_LOG', fallback: 'info', meaning: 'Least level to log: debug, info, warn, error.' },
  { name: 'SMTP_URL', fallback: '', meaning: 'smtp://user:password@host:port to send mail.', secret: true },
  { name: 'UK_MAIL_FROM', fallback: 'Ukiyo <ukiyo@localhost>', meaning: 'The sender of mail.' },
  { name: 'BRAVE_API_KEY', fallback: '', meaning: 'Web search by Brave.', secret: true },
  { name: 'BRAVE_BASE_URL', fallback: '', meaning: 'Another address than Brave’s own.' },
  { name: 'TAVILY_API_KEY', fallback: '', meaning: 'Web search by Tavily.', secret: true },
  { name: 'TAVILY_BASE_URL', fallback: '', meaning: 'Another address than Tavily’s own.' },
  {
    name: 'UK_EMBEDDING_MODEL',
    fallback: '',
    meaning:
      'The model that search embeds with, such as openai/text-embedding-3-small, metered; `off` is none. Empty: one of a local engine.',
  },
  { name: 'SEARXNG_URL', fallback: '', meaning: 'Web search by your SearXNG.' },
  {
    name: 'UK_CATALOGUE_URL',
    fallback: 'https://models.dev/api.json',
    meaning:
      'Where `POST /admin/catalogues` fetches models and prices from: models.dev’s form, or that of snapshot.json.',
  },
  {
    name: 'UK_LOCAL_ENGINES',
    fallback: '',
    meaning:
      'Other engines on this machine: empty looks for LM Studio, llama.cpp and vLLM at their usual ports, `off` for none; or `vllm=127.0.0.1:8001,…`.',
  },
  {
    name: 'OLLAMA_HOST',
    fallback: '',
    meaning: 'An Ollama; empty looks on its usual port on this machine, `off` does not.',
  },
  ...providers.flatMap((name): Setting[] => [
    {
      name: `${name}_API_KEY`,
      fallback: '',
      meaning: 'Makes it a provider of this instance, on credits.',
      secret: true,
    },
    { name: `${name}_BASE_URL`, fallback: '', meaning: 'Another address than the provider’s own.' },
  ]),
]

export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  readonly databaseUrl: string | null
  /** What carries wake-ups and broadcasts between processes; null is PostgreSQL. */
  readonly busUrl: string | null
  readonly workers: number
  readonly secretKeys: readonly string[]
  readonly publicUrl: string | null
  readonly allowedHosts: readonly string[]
  readonly trustedProxies: readonly string[]
  readonly signUp: 'open' | 'invite'
  readonly signUpCreditsUsd: string
  readonly catalogueUrl: string
  /** Preset and base URL; null: the usual ones. */
  readonly localEngines: readonly { preset: string; baseUrl: string }[] | null
  readonly sim: boolean
  readonly upstreamAllow: readonly string[]
  readonly fetchAllow: readonly string[]
  readonly limits: Readonly<
    Record<'reads' | 'writes' | 'searches' | 'inference' | 'logins' | 'sign_ups' | 'in_flight', number>
  >
  /** `file:` or `s3://bucket/prefix`. */
  readonly blobs: string
  readonly s3Endpoint: string | null
  /** In bytes; 0 is off. */
  readonly storage: Readonly<Record<'workspace' | 'file', number>>
  /** Days that what runs asked their models is kept; 0 keeps none. */
  readonly requestRetentionDays: number
  readonly fastHttp: boolean
  readonly drainSeconds: number
  readonly logLevel: string
  readonly embeddingModel: string
  readonly smtpUrl: string | null
  readonly mailFrom: string
  /** The raw environment, for the instance's providers (`OPENAI_API_KEY`, `…_BASE_URL`, `OLLAMA_HOST`). */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Each line says which variable is wrong and what would be right. */
export class ConfigRefused extends Error {}

const loopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.')

/** Environment → one frozen object, and a warning per unknown `UK_*`. Throws `ConfigRefused` on a value that cannot be. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): {
  config: Config
  warnings: string[]
} {
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
  const host = text('UK_HOST')
  const secretKeys = list('UK_SECRET_KEY')
  if (secretKeys.some((key) => key.length < 32))
    throw new ConfigRefused('UK_SECRET_KEY needs at least 32 characters a key')
  if (!/^\d+(\.\d{1,9})?$/.test(text('UK_SIGN_UP_CREDITS_USD')))
    throw new ConfigRefused(
      `UK_SIGN_UP_CREDITS_USD must be an amount such as 5 or 0.50, not "${text('UK_SIGN_UP_CREDITS_USD')}"`,
    )
  const proxy = list('UK_TRUSTED_PROXIES').find((range) => !isRange(range))
  if (proxy !== undefined)
    throw new ConfigRefused(`UK_TRUSTED_PROXIES must be addresses or CIDRs such as 10.0.0.0/8, not "${proxy}"`)
  const config: Config = Object.freeze({
    host,
    port: whole('UK_PORT', 0, 65_535),
    dataDir: resolve(text('UK_DATA_DIR')),
    databaseUrl: url('DATABASE_URL', ['postgres:', 'postgresql:']),
    busUrl: url('UK_BUS', ['nats:', 'tls:', 'redis:', 'rediss:']),
    workers: whole('UK_WORKERS', 1, 256),
    secretKeys,
    publicUrl: url('UK_PUBLIC_URL', ['http:', 'https:'])?.replace(/\/+$/, '') ?? null,
    allowedHosts: list('UK_ALLOWED_HOSTS'),
    trustedProxies: list('UK_TRUSTED_PROXIES'),
    signUp: choice('UK_SIGN_UP', ['open', 'invite'], loopback(host) ? 'open' : 'invite') as Config['signUp'],
    signUpCreditsUsd: text('UK_SIGN_UP_CREDITS_USD'),
    localEngines: localEngines(text('UK_LOCAL_ENGINES')),
    catalogueUrl: url('UK_CATALOGUE_URL', ['http:', 'https:'])!,
    sim: choice('UK_SIM', ['on', 'off'], loopback(host) ? 'on' : 'off') === 'on',
    upstreamAllow: list('UK_UPSTREAM_ALLOW'),
    fetchAllow: list('UK_FETCH_ALLOW'),
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
    drainSeconds: whole('UK_DRAIN_SECONDS', 0, 3600),
    logLevel: choice('UK_LOG', ['debug', 'info', 'warn', 'error'], 'info'),
    embeddingModel: text('UK_EMBEDDING_MODEL'),
    smtpUrl: url('SMTP_URL', ['smtp:', 'smtps:']),
    mailFrom: text('UK_MAIL_FROM'),
    environment: Object.freeze({ ...environment }),
  })
  return { config, warnings: unknownSettings(environment) }
}

function blobsIn(words: string): string {
  if (words === 'file:' || /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/.*)?$/.test(words)) return words
  throw new ConfigRefused(`UK_BLOBS must be \`file:\` or s3://bucket/prefix, not "${words}"`)
}

/** `vllm=127.0.0.1:8001,lm-studio=127.0.0.1:1235`; null: not said. */
function localEngines(words: string): Config['localEngines'] {
  if (words === '') return null
  if (words === 'off') return []
  return words.split(',').map((part) => {
    const [, preset, host] = /^\s*(vllm|lm-studio|llama-cpp)=([^\s/]+)\s*$/.exec(part) ?? []
    if (preset === undefined || !URL.canParse(`http://${host}`))
      throw new ConfigRefused(
        `UK_LOCAL_ENGINES must be off, or such as vllm=127.0.0.1:8001 (vllm, lm-studio, llama-cpp), not "${part.trim()}"`,
      )
    return { preset, baseUrl: `http://${host}/v1` }
  })
}

/** `10.1.2.3`, `10.0.0.0/8`, `fd00::/8` */
function isRange(words: string): boolean {
  const [address = '', bits, ...rest] = words.split('/')
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!
  return most > 0 && rest.length === 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= most))
}

/** What the tests and the command line read, in whose environment a server may be started. */
const elsewhere = ['UK_TEST_ALL', 'UK_KEY', 'UK_ORIGIN']

function unknownSettings(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = settings.map((setting) => setting.name)
  return Object.keys(environment)
    .filter((name) => name.startsWith('UK_') && !known.includes(name) && !elsewhere.includes(name))
    .map((name) => `${name} is not a setting; did you mean ${nearest(name, known)}? \`uk config\` lists them all`)
}

/** The known word with the fewest edits (Levenshtein). */
export function nearest(word: string, known: readonly string[]): string {
  const distance = (a: string, b: string): number => {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i)
    for (let i = 1; i <= a.length; i++) {
      const next = [i]
      for (let j = 1; j <= b.length; j++)
        next[j] = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      row = next
    }
    return row[b.length]!
  }
  return known.reduce((best, name) => (distance(word, name) < distance(word, best) ? name : best))
}

/** For `uk config`: each setting with its present value; secrets only say that they are set. */
export const describeSettings = (environment: Readonly<Record<string, string | undefined>>) =>
  settings.map(({ name, fallback, meaning, secret }) => {
    const value = environment[name]
    return { name, value: value === undefined ? fallback : secret ? '(set)' : value, set: value !== undefined, meaning }
  })
