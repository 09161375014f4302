/** An account of the server under test. */
export class Account {
  readonly origin: string
  readonly #headers: Record<string, string>
  workspaceId = ''

  constructor(origin: string, key: string) {
    this.origin = origin
    this.#headers = { authorization: `Bearer ${key}` }
  }

  get head(): string {
    return `authorization: ${this.#headers['authorization']!}\r\n`
  }

  /** Sends a request and reads its whole answer. */
  async call(method: string, path: string, body?: string | FormData | object): Promise<{ status: number; data: any }> {
    const isJson = body !== undefined && !(body instanceof FormData)
    const response = await fetch(this.origin + path, {
      method,
      headers: isJson ? { ...this.#headers, 'content-type': 'application/json' } : this.#headers,
      ...(body !== undefined && {
        body: isJson && typeof body !== 'string' ? JSON.stringify(body) : (body as FormData),
      }),
    })
    const text = await response.text()
    return { status: response.status, data: parsed(text) }
  }

  /** An ordinary account with a key, beside the first one. */
  static async signUp(origin: string, email: string): Promise<Account> {
    const post = (path: string, body: object, cookie = ''): Promise<Response> =>
      fetch(`${origin}/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-uk-csrf': '1', cookie },
        body: JSON.stringify(body),
      })
    const signUp = await post('/auth/sign-up', { email, password: 'a long password', name: 'Attacker' })
    const cookie = signUp.headers.get('set-cookie')?.split(';')[0]
    if (cookie === undefined) throw new Error(`sign-up: ${signUp.status} ${await signUp.text()}`)
    const made = (await (await post('/api-keys', { name: 'attack', scopes: ['*'] }, cookie)).json()) as any
    const account = new Account(origin, made.data.key as string)
    account.workspaceId = (await account.call('GET', '/v1/me')).data.personal_workspace_id
    return account
  }

  async make(path: string, body: object): Promise<any> {
    const { status, data } = await this.call('POST', path, body)
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(data)}`)
    return data
  }
}

function parsed(text: string): any {
  try {
    const json = JSON.parse(text) as { data?: unknown }
    return json.data ?? json
  } catch {
    return text.slice(0, 200)
  }
}
