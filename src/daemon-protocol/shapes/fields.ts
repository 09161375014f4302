/** Fields of what a server asks and a daemon answers. */
import { z } from 'zod'

/** Bytes since the beginning of a channel. */
export const offset = z.number().int().min(0)
export const key = z.string().min(1).max(64)
/** A path, as `core/files/file-path.ts` defines it. */
export const path = z.string().min(1).max(12_400)
export const cols = z.number().int().min(1).max(1_000)
export const rows = z.number().int().min(1).max(1_000)
export const env = z.record(z.string().regex(/^[^=\0]+$/), z.string())
export const signal = z.string().regex(/^SIG[A-Z0-9]+$/)
export const time = z.iso.datetime()
/** The end of a process. `exit_code` is null where a signal or a time-out ended it. */
export const ended = { exit_code: z.number().int().nullable(), signal: signal.nullable() }
