# SPDX-License-Identifier: Apache-2.0
# -DLIME_SANITIZE=address,undefined builds everything of ours under those sanitizers.
if(LIME_SANITIZE)
  set(sanitizers ${LIME_SANITIZE})
  # A cast of a number to a type that it does not fit is undefined, but looked for only where asked.
  if(LIME_SANITIZE MATCHES undefined)
    string(APPEND sanitizers ",float-cast-overflow")
  endif()
  target_compile_options(lime_build_flags INTERFACE
    -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lime_build_flags INTERFACE -fsanitize=${LIME_SANITIZE})
endif()
