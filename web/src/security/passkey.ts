import { Said, refusal, uk } from '../api.ts'

// Loaded with the first passkey.
const webauthn = () => import('@simplewebauthn/browser')

export type Shown = Parameters<typeof uk.passkeys.sign_in>[0]['credential']
type Made = Parameters<typeof uk.passkeys.create>[0]['credential']

/** Browsers make passkeys for names, on pages that nobody on the way can change. */
export const hasPasskeys = (): boolean =>
  window.isSecureContext && 'PublicKeyCredential' in window && !/^(\d+\.){3}\d+$|^\[/.test(location.hostname)

/** Whether the browser offers passkeys where the e-mail address is typed. */
export const offersPasskeys = async (): Promise<boolean> =>
  hasPasskeys() && (await (await webauthn()).browserSupportsWebAuthnAutofill())

/** A passkey to sign in with. `offered`: when the person picks one of those that the browser offers in the field, if ever. */
export async function pickPasskey(how: 'asked' | 'offered'): Promise<Shown> {
  const { options } = await uk.passkeys.sign_in_options()
  return show(options, how === 'offered')
}

/** The same for somebody who is signed in: shows that it is they who sit there. */
export async function proveWithPasskey(): Promise<void> {
  const { options } = await uk.passkeys.proof_options()
  await uk.ways_in.prove({ credential: await show(options, false) })
}

export async function addPasskey(name: string): Promise<void> {
  const { options } = await uk.passkeys.creation_options()
  const { startRegistration } = await webauthn()
  type Options = Parameters<typeof startRegistration>[0]['optionsJSON']
  const made = await startRegistration({ optionsJSON: options as unknown as Options }).catch(said)
  await uk.passkeys.create({ name, credential: made as unknown as Made })
}

/** A later request takes the place of the one that waits. */
export async function stopOffering(): Promise<void> {
  ;(await webauthn()).WebAuthnAbortService.cancelCeremony()
}

async function show(options: Record<string, unknown>, offered: boolean): Promise<Shown> {
  const { startAuthentication } = await webauthn()
  type Options = Parameters<typeof startAuthentication>[0]['optionsJSON']
  // The server made them by the same library; the contract calls them an object.
  const optionsJSON = options as unknown as Options
  return (await startAuthentication({ optionsJSON, useBrowserAutofill: offered }).catch(said)) as unknown as Shown
}

/** Throws the error in words for people: the browser's are for programmers. */
function said(error: unknown): never {
  if (refusal(error)) throw error
  const { name, code } = error as { name?: string; code?: string }
  if (code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED')
    throw new Said('This device has a passkey for your account already.')
  if (name === 'AbortError' || code === 'ERROR_CEREMONY_ABORTED') throw new Said('')
  if (name === 'NotAllowedError') throw new Said('The browser got no passkey: it was cancelled, or took too long.')
  throw new Said('This browser could not do it with a passkey. Sign in another way, or try another browser.')
}
