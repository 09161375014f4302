/** The first words of both ends of a link between a server and a daemon. */
import { z } from 'zod'
import { CAPABILITIES } from '#core/scopes.ts'
import { Violation } from './frames.ts'
import { plain } from './shapes/text.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * The newest protocol of the link, and the oldest that is still spoken: the one before. With 2 a daemon names its release in
 * HELLO and may be offered another one.
 */
export const PROTOCOL = 2
export const OLDEST_PROTOCOL = 1

/** The longest wait that a server may name; a longer one is a fault. */
export const LONGEST_UPDATE_WAIT_MS = 3_600_000

const line = plain(255)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** A daemon's. Unknown fields are those of a later version. */
export const DaemonHello = z.object({
  protocol: z.number().int().min(1),
  daemon_version: line,
  os: line,
  arch: line,
  hostname: line,
  /** Made anew at each start of the machine, and of its keeper: what was kept before is gone when they differ. */
  boot_id: line.nullable(),
  keeper_id: line.nullable(),
  /** The capabilities that the machine's owner lets the server use. */
  allows: z.array(z.enum(CAPABILITIES)).max(CAPABILITIES.length),
  /** The release that the daemon was installed from: the SHA-256 of a manifest; null: it takes no updates. */
  release: sha256.nullable().default(null),
  /** An update that it has tried lately and did not keep. */
  failed_update: z
    .object({ sha256, why: z.string().max(500) })
    .nullable()
    .default(null),
})
export type DaemonHello = z.infer<typeof DaemonHello>

/** A server's, in answer. */
export const ServerHello = z.object({
  protocol: z.number().int().min(1),
  server_version: line,
  computer_id: line,
  /** Counts the links of this computer: of two, the greater is the live one. */
  epoch: z.number().int(),
  /** The release that the server would rather speak with, by the SHA-256 of its manifest, and its bytes; null: this one will do. */
  update: z
    .object({
      version: line,
      sha256: line,
      size: z.number().int(),
      /** The wait before the update is fetched: each of many machines has another moment. */
      wait_ms: z.number().int().min(0).max(LONGEST_UPDATE_WAIT_MS).default(0),
    })
    .nullable(),
})
export type ServerHello = z.infer<typeof ServerHello>

/** Throws `Violation`. */
export function readHello<T>(schema: z.ZodType<T>, hello: unknown): T {
  const { data, error } = schema.safeParse(hello)
  if (error) throw new Violation(shorten(`HELLO: ${error.issues[0]?.path.join('.')} ${error.issues[0]?.message}`, 120))
  return data
}
