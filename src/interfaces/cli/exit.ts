/** The exit codes of the program. `uk help exit-codes` prints this. */
export const exits = {
  ok: [0, 'Done.'],
  failure: [1, 'The server failed, or the work that was waited for did, or a test found something wrong.'],
  usage: [2, 'The command or its input is not right (400, 405, 413, 415).'],
  not_found: [3, 'It does not exist, or you have no access to it (404, 410).'],
  auth: [4, 'Not signed in, or not allowed (401, 403).'],
  conflict: [5, 'Its present state does not allow this (409, 412).'],
  limit: [6, 'A limit, budget or balance is reached (402, 429, 507).'],
  unreachable: [7, 'The server cannot be reached or cannot answer now (no connection, 502, 503, 504).'],
  undecided: [8, 'A run waits for the decision of a person, and nobody can be asked here.'],
  interrupted: [130, 'Interrupted with Ctrl-C.'],
} as const satisfies Record<string, readonly [number, string]>

export type Exit = keyof typeof exits
export const codeOf = (exit: Exit): number => exits[exit][0]

/** An end with a reason that the program itself found. */
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
