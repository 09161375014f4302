import { readConfig } from '#config'
import { type App, type AppOptions, startApp } from '#app'
import { prepareSetupToken } from '#modules/accounts/sign-in/setup.ts'
import type { OperationKind } from '#modules/operations/service.ts'
import type { Context } from '#infra/context.ts'
import { type Log, createLog } from '#infra/log.ts'
import type { Service } from '#core/implement.ts'
import type { Version } from '#pipeline/version.ts'
import { type TestDatabase, testDatabase } from './database.ts'

/** A real server on a separate database: `await using server = await testServer()`. */
export interface TestServer extends AsyncDisposable {
  origin: string
  app: App
  database: TestDatabase
  /** Signs up. The first person is an administrator with the unlimited tier. */
  person(name: string): Promise<Person>
  stranger: Caller
  /** Another server process on the same database. */
  twin(environment?: Record<string, string>, more?: Pick<TestOptions, 'programRoot'>): Promise<TestServer>
}

export interface Answer {
  status: number
  headers: Headers
  // Untyped, because tests inspect responses freely.
  body: any
  text: string
}

export interface Caller {
  origin: string
  headers: Record<string, string>
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  delete(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

export interface Person extends Caller {
  id: string
  email: string
  name: string
  password: string
  workspaceId: string
  key(more?: {
    scopes?: string[]
    workspace_id?: string
    [field: string]: unknown
  }): Promise<Caller & { key: string; keyId: string }>
}

export interface TestOptions {
  waits?: AppOptions['waits']
  environment?: Record<string, string>
  versions?: readonly Version[]
  services?: readonly Service<Context>[]
  operations?: readonly OperationKind[]
  sockets?: AppOptions['sockets']
  database?: TestDatabase
  /** Newest first. */
  rootKeys?: readonly string[]
  log?: Log
  programRoot?: string
}

export const testRootKey = 'a root key of the tests, 32 characters or more'

export async function testServer(options: TestOptions = {}): Promise<TestServer> {
  const database = options.database ?? (await testDatabase())
  const { config } = readConfig({
    UK_PORT: '0',
    UK_DATA_DIR: database.dataDir,
    UK_LOG: 'error',
    UK_DRAIN_SECONDS: '2',
    UK_LIMIT_LOGINS: '0',
    OLLAMA_HOST: 'off',
    UK_LOCAL_ENGINES: 'off',
    UK_COMPUTER_DRIVERS: 'off',
    ...options.environment,
  })
  const app = await startApp({
    config,
    connection: database.connection,
    rootKeys: options.rootKeys ?? [testRootKey],
    log: options.log ?? createLog(config.logLevel),
    ...(options.waits && { waits: options.waits }),
    ...(options.versions && { versions: options.versions }),
    ...(options.services && { services: options.services }),
    ...(options.operations && { operations: options.operations }),
    ...(options.sockets && { sockets: options.sockets }),
    ...(options.programRoot !== undefined && { programRoot: options.programRoot }),
  })
  const { origin } = app
  const ownsDatabase = options.database === undefined
  return {
    origin,
    app,
    database,
    stranger: caller(origin, {}),
    person: (name) => signUp(origin, name, () => prepareSetupToken(app.engine.postgres.db, config.dataDir)),
    twin: (environment = {}, more = {}) =>
      testServer({ ...options, ...more, environment: { ...options.environment, ...environment }, database }),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      if (ownsDatabase) await database[Symbol.asyncDispose]()
    },
  }
}

export function caller(origin: string, credentials: Record<string, string>): Caller {
  const request: Caller['request'] = async (method, path, body, headers = {}) => {
    const response = await fetch(
      new URL(
        /^\/(v1|compat|openai|anthropic|openrouter|mcp|docs|healthz|readyz|metrics|f|install|app(?!\/(automation-|chat-|computer|drive\/(?:files|rows|latest)|passkeys|proofs|sessions|recovery|sign-out|identities|ways-in|instance|shares|requests|usage-export)))/.test(
          path,
        )
          ? path
          : `/v1${path}`,
        origin,
      ),
      {
        method,
        redirect: 'manual',
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...credentials, ...headers },
        ...(body !== undefined && {
          body:
            typeof body === 'string' || body instanceof Uint8Array
              ? (body as Uint8Array<ArrayBuffer>)
              : JSON.stringify(body),
        }),
      },
    )
    const text = await response.text()
    const json = response.headers.get('content-type')?.includes('json')
    return { status: response.status, headers: response.headers, text, body: json && text ? JSON.parse(text) : null }
  }
  return {
    origin,
    headers: credentials,
    request,
    get: (path, headers) => request('GET', path, undefined, headers),
    post: (path, body, headers) => request('POST', path, body, headers),
    patch: (path, body, headers) => request('PATCH', path, body, headers),
    delete: (path, body, headers) => request('DELETE', path, body, headers),
  }
}

export async function signUp(origin: string, name: string, setupToken: () => Promise<string | null>): Promise<Person> {
  const email = `${name.toLowerCase().replace(/\W+/g, '.')}@example.com`
  const password = `the password of ${name}`
  const ask = (more: object) =>
    caller(origin, {}).post('/auth/sign-up', { email, password, name, ...more }, { 'x-uk-csrf': '1' })
  const first = await ask({})
  const answer = first.body?.error?.code === 'setup_required' ? await ask({ setup_token: await setupToken() }) : first
  if (answer.status !== 201) throw new Error(`sign-up of ${name}: ${answer.status} ${answer.text}`)
  const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
  const session = caller(origin, { cookie, 'x-uk-csrf': '1' })
  return {
    ...session,
    id: answer.body.data.id,
    email,
    name,
    password,
    workspaceId: answer.body.data.personal_workspace_id,
    async key(more = {}) {
      const response = await session.post('/api-keys', { name: 'test', scopes: ['*'], ...more })
      if (response.status !== 201) throw new Error(`a key for ${name}: ${response.status} ${response.text}`)
      const { key, id } = response.body.data
      return { ...caller(origin, { authorization: `Bearer ${key}` }), key, keyId: id }
    },
  }
}
