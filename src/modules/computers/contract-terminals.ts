import { z } from 'zod'
import { resource } from '#core/access.ts'
import { endpoint, one, pageOr, time, words } from '#core/contract.ts'
import { argv, cwd, environment, machineUser } from './contract-exec.ts'

const cols = z.number().int().min(1).max(1_000)
const rows = z.number().int().min(1).max(1_000)
const terminalId = words(64).pipe(z.string().min(1))
const offset = z.number().int().min(0)

const fields = {
  terminal_id: z.string(),
  name: z.string().nullable(),
  status: z.enum(['open', 'ended', 'lost']).describe('`lost`: the computer was restarted.'),
  cols: z.number().int(),
  rows: z.number().int(),
  offset: z.number().int().describe('The total number of output bytes. For `read`, the offset to continue at.'),
  exit_code: z.number().int().nullable(),
  signal: z.string().nullable(),
  created_at: time,
  ended_at: time.nullable(),
}
export const ComputerTerminal = z.object(fields).meta({ id: 'ComputerTerminal' })
export const TerminalOutput = z
  .object({
    ...fields,
    data: z.string().describe('Never ends in the middle of a character while more output may follow.'),
    from: z.number().int().describe('The offset of `data`.'),
    gap: z.boolean().describe('Whether output between the requested `from` and this `from` is no longer kept.'),
    dropped_bytes: z.number().int().describe('The number of missing bytes.'),
    snapshot: z.string().nullable().describe('With `screen`: the output that draws the screen as of `at`.'),
    at: z.number().int().nullable(),
  })
  .meta({ id: 'TerminalOutput' })

export const terminal = endpoint('POST /computers/:id/terminal', {
  summary: 'Open, write to, read, resize, close or list terminals on a computer',
  description:
    'Terminals outlive connections, servers and daemons. Closed terminals can be read for 24 hours. Everyone with terminal access to a computer shares its terminals. `open` accepts `shell` or `argv`, `cwd`, `env`, `cols`, `rows`, `user` and `name`; `write` accepts `terminal_id`, `data` and `seq` (if the connection to the computer breaks, it waits up to 30 seconds for the next one; input is typed exactly once); `read` accepts `terminal_id`, `from`, `max_bytes`, `wait_ms` and `screen`; `resize` accepts `terminal_id`, `cols` and `rows`; `close` accepts `terminal_id` and `signal`. For live access, use the WebSocket `GET /computers/:id/terminals/:terminal_id/attach`.',
  access: resource('computer', { scope: 'computer:exec', capability: 'terminal' }),
  body: {
    action: z.enum(['open', 'write', 'resize', 'read', 'close', 'list']),
    terminal_id: terminalId.optional(),
    shell: words(4_096).pipe(z.string().min(1)).optional().describe('Default: the user’s shell.'),
    argv: argv.optional().describe('A program with arguments, instead of a shell.'),
    cwd: cwd.optional(),
    env: environment.optional(),
    cols: cols.optional().describe('Default 80.'),
    rows: rows.optional().describe('Default 24.'),
    user: machineUser.optional(),
    name: words(120).optional(),
    data: words(32_768).optional().describe('The input to type. `\\r` is the Enter key.'),
    seq: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe(
        'A number that increases with each `write` of a key or session. A number that was already received is ignored, so you can resend a `write` that got no response.',
      ),
    from: offset.optional().describe('An offset returned by `read`. Default: the last `max_bytes`.'),
    max_bytes: z.number().int().min(1).max(1_048_576).optional().describe('Default 65,536.'),
    wait_ms: z.number().int().min(0).max(30_000).optional().describe('How long to wait for output. Default: 0.'),
    screen: z.boolean().optional(),
    signal: z
      .string()
      .regex(/^SIG[A-Z0-9]+$/)
      .optional()
      .describe('The signal to send instead of SIGHUP, such as `SIGKILL`.'),
  },
  reply: pageOr(ComputerTerminal, z.union([TerminalOutput, ComputerTerminal])),
  errors: ['computer_offline', 'timeout', 'capability_denied', 'invalid_state', 'not_supported'],
})

export const TerminalTicket = z
  .object({ url: z.string().describe('A WebSocket URL that opens the terminal once.'), expires_at: time })
  .meta({ id: 'TerminalTicket' })

export const terminal_ticket = endpoint('POST /computers/:id/terminals/:terminal_id/ticket', {
  summary: 'Create a one-time URL to open a terminal over a WebSocket',
  description:
    'For web pages, whose WebSockets can’t send an API key. The URL is valid for 60 seconds and can be used once. It opens only this terminal, with the permissions of the caller, for up to 12 hours and no longer than the session or key that created it. If permissions are revoked, the connection is closed within 5 seconds. To resume after a disconnect, create another URL and add `from` and the same `viewer`.',
  access: resource('computer', { scope: 'computer:exec', capability: 'terminal' }),
  consent: 'person',
  params: { terminal_id: terminalId },
  reply: one(TerminalTicket),
  status: 201,
  errors: ['capability_denied'],
  beyond: true,
})

/** Not in the registry, which only has HTTP endpoints. */
export const attach = endpoint('GET /computers/:id/terminals/:terminal_id/attach', {
  summary: 'Attach to a terminal: a WebSocket',
  access: resource('computer', { scope: 'computer:exec', capability: 'terminal' }),
  params: { terminal_id: terminalId },
  query: {
    from: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .describe('The offset to resume at. Default: a snapshot of the screen first.'),
    viewer: z
      .string()
      .regex(/^[\w-]{1,32}$/)
      .optional()
      .describe('Use the same value after a reconnect, so that earlier input isn’t typed again.'),
    ticket: z
      .string()
      .max(100)
      .optional()
      .describe('The ticket from `POST …/ticket`, for clients that can’t send a key.'),
  },
  reply: { kind: 'none' },
  beyond: true,
})
