import { z } from 'zod'
import { endpoint, one, pageOr, time, words } from '#core/contract.ts'
import { argv, cwd, environment, machineUser } from './contract-exec.ts'

const cols = z.number().int().min(1).max(1_000)
const rows = z.number().int().min(1).max(1_000)
const terminalId = words(64).pipe(z.string().min(1))
const offset = z.number().int().min(0)

const fields = {
  terminal_id: z.string(),
  name: z.string().nullable(),
  status: z.enum(['open', 'ended', 'lost']).describe('`lost`: its machine was restarted.'),
  cols: z.number().int(),
  rows: z.number().int(),
  offset: z.number().int().describe('Bytes that it has put out; of `read`, where to go on.'),
  exit_code: z.number().int().nullable(),
  signal: z.string().nullable(),
  created_at: time,
  ended_at: time.nullable(),
}
export const ComputerTerminal = z.object(fields).meta({ id: 'ComputerTerminal' })
export const TerminalOutput = z
  .object({
    ...fields,
    data: z.string().describe('Never ends within a character while more may come.'),
    from: z.number().int().describe('Where `data` begins.'),
    gap: z.boolean().describe('What came between the `from` that was asked for and this one is no longer kept.'),
    dropped_bytes: z.number().int().describe('How much that is.'),
    snapshot: z.string().nullable().describe('With `screen`: what draws its screen as it is at `at`.'),
    at: z.number().int().nullable(),
  })
  .meta({ id: 'TerminalOutput' })

export const terminal = endpoint('POST /computers/:id/terminal', {
  summary: 'Open, write to, read, resize, close or list terminals of a computer',
  description:
    'A terminal outlives connections, servers and daemons; one that has ended can be read for 24 hours. Everybody who may use terminals of a computer shares them. `open` takes `shell` or `argv`, `cwd`, `env`, `cols`, `rows`, `user` and `name`; `write` `terminal_id`, `data` and `seq` (where the connection to the computer breaks it waits up to 30 seconds for the next one, and is typed once); `read` `terminal_id`, `from`, `max_bytes`, `wait_ms` and `screen`; `resize` `terminal_id`, `cols` and `rows`; `close` `terminal_id` and `signal`. The same live: `GET /computers/:id/terminals/:terminal_id/attach`, a WebSocket.',
  scope: 'computer:exec',
  on: 'computer',
  capability: 'terminal',
  body: {
    action: z.enum(['open', 'write', 'resize', 'read', 'close', 'list']),
    terminal_id: terminalId.optional(),
    shell: words(4_096).pipe(z.string().min(1)).optional().describe('Default: that of its user.'),
    argv: argv.optional().describe('A program with its arguments instead of a shell.'),
    cwd: cwd.optional(),
    env: environment.optional(),
    cols: cols.optional().describe('Default 80.'),
    rows: rows.optional().describe('Default 24.'),
    user: machineUser.optional(),
    name: words(120).optional(),
    data: words(32_768).optional().describe('What is typed; `\\r` is the Enter key.'),
    seq: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe(
        'Counts up with each `write` of a key or session; one that came before is ignored, so a `write` without an answer can be sent again.',
      ),
    from: offset.optional().describe('An offset that `read` answered. Default: the last `max_bytes`.'),
    max_bytes: z.number().int().min(1).max(1_048_576).optional().describe('Default 65,536.'),
    wait_ms: z.number().int().min(0).max(30_000).optional().describe('For the first byte. Default 0.'),
    screen: z.boolean().optional(),
    signal: z
      .string()
      .regex(/^SIG[A-Z0-9]+$/)
      .optional()
      .describe('Sent instead of hanging up, such as `SIGKILL`.'),
  },
  reply: pageOr(ComputerTerminal, z.union([TerminalOutput, ComputerTerminal])),
  errors: ['computer_offline', 'timeout', 'capability_denied', 'invalid_state', 'not_supported'],
})

export const TerminalTicket = z
  .object({ url: z.string().describe('For a WebSocket: it opens the terminal, once.'), expires_at: time })
  .meta({ id: 'TerminalTicket' })

export const terminal_ticket = endpoint('POST /computers/:id/terminals/:terminal_id/ticket', {
  summary: 'Make an address that opens a terminal over a WebSocket, once and within 60 seconds',
  description:
    'For pages, whose WebSockets can send no key. It opens this terminal and nothing else, in the rights of who asked, for 12 hours and no longer than the session or key that asked; what is withdrawn ends it within 5 seconds. After a break ask for another one, and add `from` and the same `viewer` to go on where it was.',
  scope: 'computer:exec',
  on: 'computer',
  capability: 'terminal',
  consent: 'person',
  params: { terminal_id: terminalId },
  reply: one(TerminalTicket),
  status: 201,
  errors: ['capability_denied'],
  beyond: true,
})

/** The WebSocket; not an endpoint of the registry, which speaks HTTP. */
export const attach = endpoint('GET /computers/:id/terminals/:terminal_id/attach', {
  summary: 'Attach to a terminal: a WebSocket',
  scope: 'computer:exec',
  on: 'computer',
  capability: 'terminal',
  params: { terminal_id: terminalId },
  query: {
    from: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .describe('Where to go on. Default: a snapshot of the screen first.'),
    viewer: z
      .string()
      .regex(/^[\w-]{1,32}$/)
      .optional()
      .describe('The same after a reconnect, so that what was typed before is not typed again.'),
    ticket: z.string().max(100).optional().describe('Of `POST …/ticket`, where no key can be sent.'),
  },
  reply: { kind: 'none' },
  beyond: true,
})
