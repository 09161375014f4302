/** A channel of bytes within a stream. Bytes on it stand at their true offset, also where a call goes on after a loss. */
export const CHANNEL = { body: 0, stdin: 0, stdout: 1, stderr: 2, snapshot: 3 } as const
export type Channel = (typeof CHANNEL)[keyof typeof CHANNEL]
