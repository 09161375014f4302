import { type DeviceSetting, deviceSetting } from '../../shared/device-setting.ts'

const byAccount = new Map<string, DeviceSetting>()

export function dismissed(accountId: string): DeviceSetting {
  const entry = byAccount.get(accountId) ?? deviceSetting(`ukiyo.first-steps.${accountId}`)
  byAccount.set(accountId, entry)
  return entry
}
