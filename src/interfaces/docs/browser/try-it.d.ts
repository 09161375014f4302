export interface Tried {
  method: string
  /** The path with `:name` where `params` go; its root, such as `/v1`, included. */
  path: string
  params?: Readonly<Record<string, string>>
  query?: readonly (readonly [name: string, value: string])[]
  /** Undefined: there is no JSON to send. */
  json?: unknown
  file?: Blob | null
  /** The name of the part that the file is; empty: the file is the body. */
  part?: string
  /** Null: by the cookie of who is signed in. */
  key?: string | null
  /** A parameter may hold slashes. */
  greedy?: boolean
}

/** The arguments for `fetch`. */
export function requestOf(tried: Tried): [url: string, options: RequestInit & { headers: Record<string, string> }]

/** Tells `write` what there is of the answer so far: JSON in lines, events as they come, and of bytes how many they are. */
export function readAnswer(response: Response, isBytes: boolean, write: (text: string) => void): Promise<void>

export const MOST_SHOWN: number
