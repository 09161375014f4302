import { z } from 'zod'
import { CAPABILITIES } from '#core/scopes.ts'
import { Violation } from '#packages/mux/frames.ts'
import { plain } from './shapes/text.ts'
import { shorten } from '#core/text/shorten.ts'

/** The newest and the oldest supported protocol. Version 2 added the daemon's release and updates to HELLO. */
export const PROTOCOL = 2
export const OLDEST_PROTOCOL = 1

export const LONGEST_UPDATE_WAIT_MS = 3_600_000

const line = plain(255)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** The daemon's hello. Unknown fields come from later versions. */
export const DaemonHello = z.object({
  protocol: z.number().int().min(1),
  daemon_version: line,
  os: line,
  arch: line,
  hostname: line,
  /** Change at each start of the machine or its keeper: earlier terminals and commands no longer exist then. */
  boot_id: line.nullable(),
  keeper_id: line.nullable(),
  allows: z.array(z.enum(CAPABILITIES)).max(CAPABILITIES.length),
  /** The installed release, as the SHA-256 of its manifest. Null: no updates. */
  release: sha256.nullable().default(null),
  /** The update that failed most recently. */
  failed_update: z
    .object({ sha256, why: z.string().max(500) })
    .nullable()
    .default(null),
})
export type DaemonHello = z.infer<typeof DaemonHello>

export const ServerHello = z.object({
  protocol: z.number().int().min(1),
  server_version: line,
  computer_id: line,
  /** Increases with each link of a computer; of two links the one with the higher epoch is live. */
  epoch: z.number().int(),
  /** The release the server offers, by the SHA-256 of its manifest. Null: no update. */
  update: z
    .object({
      version: line,
      sha256: line,
      size: z.number().int(),
      wait_ms: z.number().int().min(0).max(LONGEST_UPDATE_WAIT_MS).default(0),
    })
    .nullable(),
})
export type ServerHello = z.infer<typeof ServerHello>

export function readHello<T>(schema: z.ZodType<T>, hello: unknown): T {
  const { data, error } = schema.safeParse(hello)
  if (error) throw new Violation(shorten(`HELLO: ${error.issues[0]?.path.join('.')} ${error.issues[0]?.message}`, 120))
  return data
}
