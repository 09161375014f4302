import type { Config } from '#config'
import { refuse } from '#core/errors.ts'

export function checkGivenUrl({ fetchAllow }: Pick<Config, 'fetchAllow'>, url: string, param = 'url'): void {
  const { protocol, username, password } = new URL(url)
  if (username !== '' || password !== '')
    refuse('invalid_parameter', { param, message: 'The URL can’t include a user name or password.' })
  if (protocol === 'http:' && fetchAllow.length === 0)
    refuse('invalid_parameter', { param, message: 'The URL must start with https://.' })
}
