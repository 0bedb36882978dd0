// Making passwords, as the server makes them: letters and digits, without those that people confuse.

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const LENGTH = 24;

export function newPassword() {
  let password = '';
  while (password.length < LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH))) {
      // What would make some letters likelier than others is thrown away.
      if (byte < 256 - (256 % LETTERS.length) && password.length < LENGTH) password += LETTERS[byte % LETTERS.length];
    }
  }
  return password;
}
