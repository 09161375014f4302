/** Exit codes, printed by `uk help exit-codes`. */
export const exits = {
  ok: [0, 'Done.'],
  failure: [1, 'The server, a background operation or a check failed.'],
  usage: [2, 'The command or its input is invalid (400, 405, 413, 415).'],
  not_found: [3, "Not found, or you don't have access (404, 410)."],
  auth: [4, 'Not signed in, or missing a permission (401, 403).'],
  conflict: [5, "The current state doesn't allow this (409, 412)."],
  limit: [6, 'A limit, budget or balance was reached (402, 429, 507).'],
  unreachable: [7, "The server can't be reached or is unavailable (no connection, 502, 503, 504)."],
  undecided: [8, 'A run is waiting for your approval, and there is no terminal to ask in.'],
  interrupted: [130, 'Interrupted with Ctrl-C.'],
} as const satisfies Record<string, readonly [number, string]>

export type Exit = keyof typeof exits
export const codeOf = (exit: Exit): number => exits[exit][0]

/** An error raised by the program, not by the API. */
export class Stop extends Error {
  readonly exit: Exit
  readonly hint: string | undefined
  constructor(exit: Exit, message: string, hint?: string) {
    super(message)
    this.exit = exit
    this.hint = hint
  }
}

export function exitFor(status: number): Exit {
  switch (status) {
    case 401:
    case 403:
      return 'auth'
    case 402:
    case 429:
    case 507:
      return 'limit'
    case 404:
    case 410:
      return 'not_found'
    case 409:
    case 412:
      return 'conflict'
    case 502:
    case 503:
    case 504:
      return 'unreachable'
    default:
      return status >= 400 && status < 500 ? 'usage' : 'failure'
  }
}
