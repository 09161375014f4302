export interface Tried {
  method: string
  /** Path with `:name` parameters, including the root, such as `/v1`. */
  path: string
  params?: Readonly<Record<string, string>>
  query?: readonly (readonly [name: string, value: string])[]
  /** Undefined without a JSON body. */
  json?: unknown
  file?: Blob | null
  /** Form part name of the file; empty sends the file as the body. */
  part?: string
  /** Null uses the session cookie. */
  key?: string | null
  /** The parameter may contain slashes. */
  greedy?: boolean
}

/** Arguments for `fetch`. */
export function requestOf(tried: Tried): [url: string, options: RequestInit & { headers: Record<string, string> }]

/** Passes the response so far to `write`: JSON with line breaks, events as they arrive, or a byte count. */
export function readAnswer(response: Response, isBytes: boolean, write: (text: string) => void): Promise<void>

export const MAX_SHOWN: number
