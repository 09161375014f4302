import { uk } from '../api.ts'
import { ReadableError, refusal } from '../../ui/calls/errors.ts'

// Loaded with the first passkey action.
const webauthn = () => import('@simplewebauthn/browser')

export type PasskeyAssertion = Parameters<typeof uk.passkeys.sign_in>[0]['credential']
type PasskeyRegistration = Parameters<typeof uk.passkeys.create>[0]['credential']

/** Browsers allow passkeys only for domain names in secure contexts. */
export const hasPasskeys = (): boolean =>
  window.isSecureContext && 'PublicKeyCredential' in window && !/^(\d+\.){3}\d+$|^\[/.test(location.hostname)

/** Whether the browser can suggest passkeys in the email field. */
export const offersPasskeys = async (): Promise<boolean> =>
  hasPasskeys() && (await (await webauthn()).browserSupportsWebAuthnAutofill())

/** Gets a passkey to sign in with. `offered`: waits for a suggestion in the email field to be picked. */
export async function pickPasskey(how: 'asked' | 'offered'): Promise<PasskeyAssertion> {
  const { options } = await uk.passkeys.sign_in_options()
  return show(options, how === 'offered')
}

export async function proveWithPasskey(): Promise<void> {
  const { options } = await uk.passkeys.proof_options()
  await uk.ways_in.prove({ credential: await show(options, false) })
}

export async function addPasskey(name: string): Promise<void> {
  const { options } = await uk.passkeys.creation_options()
  const { startRegistration } = await webauthn()
  type Options = Parameters<typeof startRegistration>[0]['optionsJSON']
  const registration = await startRegistration({ optionsJSON: options as unknown as Options }).catch(said)
  await uk.passkeys.create({ name, credential: registration as unknown as PasskeyRegistration })
}

export async function stopOffering(): Promise<void> {
  ;(await webauthn()).WebAuthnAbortService.cancelCeremony()
}

async function show(options: Record<string, unknown>, offered: boolean): Promise<PasskeyAssertion> {
  const { startAuthentication } = await webauthn()
  type Options = Parameters<typeof startAuthentication>[0]['optionsJSON']
  // The server uses the same library; the contract types the options as an object.
  const optionsJSON = options as unknown as Options
  return (await startAuthentication({ optionsJSON, useBrowserAutofill: offered }).catch(
    said,
  )) as unknown as PasskeyAssertion
}

/** Throws an error with a message for people; browser messages are meant for developers. */
function said(error: unknown): never {
  if (refusal(error)) throw error
  const { name, code } = error as { name?: string; code?: string }
  if (code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED')
    throw new ReadableError('This device already has a passkey for your account.')
  if (name === 'AbortError' || code === 'ERROR_CEREMONY_ABORTED') throw new ReadableError('')
  if (name === 'NotAllowedError') throw new ReadableError('The passkey request was canceled or timed out. Try again.')
  throw new ReadableError('Passkeys didn’t work in this browser. Sign in another way, or use another browser.')
}
