import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** A mail server of the loopback that takes everything. */
export interface Mailbox extends AsyncDisposable {
  url: string
  /** The next mail that comes, as it came. */
  next(): Promise<string>
  /** The mails that came and were not asked for. */
  unread: string[]
}

export async function mailbox(): Promise<Mailbox> {
  const unread: string[] = []
  const waiting: ((mail: string) => void)[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      let mail = ''
      stream.on('data', (part: Buffer) => (mail += part.toString()))
      stream.on('end', () => {
        const take = waiting.shift()
        const read = readable(mail)
        if (take) take(read)
        else unread.push(read)
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    unread,
    next: () =>
      new Promise((resolve) => {
        const mail = unread.shift()
        if (mail === undefined) waiting.push(resolve)
        else resolve(mail)
      }),
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Quoted-printable undone (RFC 2045, 6.7). */
const readable = (mail: string): string =>
  mail.includes('quoted-printable')
    ? Buffer.from(
        mail
          .replaceAll('=\r\n', '')
          .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      ).toString()
    : mail
