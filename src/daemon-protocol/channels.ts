/**
 * Byte channels within a stream. Offsets count from the start of the channel, also when a call resumes after a lost
 * link.
 */
export const CHANNEL = { body: 0, stdin: 0, stdout: 1, stderr: 2, snapshot: 3 } as const
export type Channel = (typeof CHANNEL)[keyof typeof CHANNEL]
